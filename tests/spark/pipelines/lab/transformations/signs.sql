CREATE FLOW negative AS INSERT INTO both BY NAME
SELECT -n AS n FROM STREAM(yard.lab.source) WHERE n > 0;

CREATE MATERIALIZED VIEW signs TBLPROPERTIES ('about' = 'numbers') AS
SELECT sign(n) AS sign, count(*) AS numbers FROM even GROUP BY ALL;
