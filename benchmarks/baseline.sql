-- The yardstick: the least that any analysis of a call log has to do. One pass that sorts the calls
-- by session and time and writes what the preceding call of the session was. The variable `trace`
-- names the Parquet file.
create table lags as
select
    session_id,
    timestamp,
    lag(timestamp) over w as previous_timestamp,
    lag(context_tokens) over w as previous_context_tokens,
    lag(model) over w as previous_model,
    lag(deployment) over w as previous_deployment,
    row_number() over w as call_index
from read_parquet(getvariable('trace'))
window w as (partition by session_id order by timestamp);
