-- What there is about each topic; made anew by every run.
CREATE MATERIALIZED VIEW topics AS
SELECT
  topic,
  count(*) AS documents,
  cast(round(avg(length(text))) AS INT) AS letters,
  to_date(max(published)) AS latest
FROM cleaned
GROUP BY topic;
