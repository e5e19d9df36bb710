-- Views: the questions that are asked most. `docs/fleet.md` describes their columns.
--
-- Both engines run these definitions, each of which uses only earlier ones. They are written in what DataFusion and
-- Spark have in common: `/` only where the result is the same as a whole number and as a fraction, CAST where a type
-- matters. Words in braces stand for what the languages call differently (`views.rs`):
--
--   {each}(list)     a row for each element
--   {nth}(list, n)   the element at n, from 1 on; null beyond the list's end
--   {period}         a definition for each hour and one for each day
--   {span}           likewise, where hours are kept: of days, and of those hours that are not kept (`..._hour_open`)

CREATE VIEW jvm AS
SELECT jvm_id, host, service, version, environment, labels, jdk, pid, cpus,
       min(started) AS started, min(start_ts) AS start_ts, max(end_ts) AS end_ts, sum(folded) AS folded
FROM jvm_part
GROUP BY jvm_id, host, service, version, environment, labels, jdk, pid, cpus;

CREATE VIEW site AS
SELECT site_id, class, member, kind, CASE WHEN member = '' THEN class ELSE member END AS lock
FROM (SELECT DISTINCT site_id, class, member, kind FROM site_part);

CREATE VIEW stack AS
SELECT DISTINCT stack_id, frames FROM stack_part;

CREATE VIEW service_load AS
SELECT service, version, count(DISTINCT jvm_id) AS jvms, min(ts) AS first_ts, max(ts) AS last_ts,
       sum(covered_ns) AS covered_ns, sum(running_ns) AS running_ns, sum(cpu_ns) AS cpu_ns,
       sum(steal_ns) AS steal_ns, sum(operations) AS operations, sum(dropped) AS dropped
FROM load_minute
GROUP BY service, version;

CREATE VIEW top_sites AS
SELECT l.service, l.version, l.site_id, s.lock, s.class, s.kind, l.jvms, l.contentions, l.blocked_ns,
       l.handoff_ns, l.unknown_ns, l.max_ns,
       CASE WHEN v.running_ns > 0 THEN CAST(l.blocked_ns AS DOUBLE) / v.running_ns END AS blocked_share
FROM (SELECT service, version, site_id, count(DISTINCT jvm_id) AS jvms, sum(contentions) AS contentions,
             sum(blocked_ns) AS blocked_ns, sum(handoff_ns) AS handoff_ns, sum(unknown_ns) AS unknown_ns,
             max(max_ns) AS max_ns
      FROM lock_minute
      GROUP BY service, version, site_id) l
JOIN site s ON s.site_id = l.site_id
JOIN service_load v ON v.service = l.service AND v.version = l.version;

-- What a service and version come to.
CREATE VIEW services AS
SELECT v.service, v.version, v.jvms, h.hosts, v.first_ts, v.last_ts, v.covered_ns, v.running_ns, v.cpu_ns,
       v.steal_ns, v.operations, v.dropped, coalesce(b.locks, CAST(0 AS BIGINT)) AS locks,
       coalesce(b.contentions, CAST(0 AS BIGINT)) AS contentions,
       coalesce(b.blocked_ns, CAST(0 AS BIGINT)) AS blocked_ns,
       CASE WHEN v.running_ns > 0 THEN CAST(coalesce(b.blocked_ns, CAST(0 AS BIGINT)) AS DOUBLE) / v.running_ns END
         AS blocked_share
FROM service_load v
LEFT JOIN (SELECT service, version, count(DISTINCT site_id) AS locks, sum(contentions) AS contentions,
                  sum(blocked_ns) AS blocked_ns
           FROM lock_minute GROUP BY service, version) b ON b.service = v.service AND b.version = v.version
LEFT JOIN (SELECT service, version, count(DISTINCT host) AS hosts
           FROM jvm GROUP BY service, version) h ON h.service = v.service AND h.version = v.version;

-- A lock's contentions by the stacks of both sides.
CREATE VIEW lock_stacks AS
SELECT l.service, l.version, l.site_id, s.lock, l.contentions, l.blocked_ns, w.frames AS waiter_stack,
       o.frames AS owner_stack
FROM (SELECT service, version, site_id, waiter_stack, owner_stack, sum(contentions) AS contentions,
             sum(blocked_ns) AS blocked_ns
      FROM lock_minute
      GROUP BY service, version, site_id, waiter_stack, owner_stack) l
JOIN site s ON s.site_id = l.site_id
LEFT JOIN stack w ON w.stack_id = l.waiter_stack
LEFT JOIN stack o ON o.stack_id = l.owner_stack;

CREATE VIEW owners AS
SELECT l.service, l.version, s.lock, {nth}(k.frames, 1) AS owner_method, l.blocked_ns, l.contentions, k.frames AS owner_stack
FROM (SELECT service, version, site_id, owner_stack, sum(blocked_ns) AS blocked_ns, sum(contentions) AS contentions
      FROM lock_minute
      WHERE owner_stack IS NOT NULL
      GROUP BY service, version, site_id, owner_stack) l
JOIN site s ON s.site_id = l.site_id
JOIN stack k ON k.stack_id = l.owner_stack;

CREATE VIEW phases AS
SELECT p.service, p.version, j.host, p.ts, p.end_ts, s.lock, p.mean, p.peak, p.acquiring_ns,
       w.frames AS waiter_stack, o.frames AS owner_stack, p.recording
FROM phase p
JOIN site s ON s.site_id = p.site_id
LEFT JOIN (SELECT jvm_id, max(host) AS host FROM jvm GROUP BY jvm_id) j ON j.jvm_id = p.jvm_id
LEFT JOIN stack w ON w.stack_id = p.waiter_stack
LEFT JOIN stack o ON o.stack_id = p.owner_stack;

-- Each version of a service with the one that appeared before it.
CREATE VIEW versions AS
SELECT service, version, running_ns, first_ts,
       lag(version) OVER (PARTITION BY service ORDER BY first_ts, version) AS old_version,
       lag(running_ns) OVER (PARTITION BY service ORDER BY first_ts, version) AS old_running_ns
FROM service_load;

-- Blocked nanoseconds per second of running time, new against old. A lock that one of
-- them does not have counts with 0 there.
CREATE VIEW regressions AS
WITH blocked AS (
  SELECT service, version, site_id, sum(blocked_ns) AS blocked_ns
  FROM lock_minute
  GROUP BY service, version, site_id),
pairs AS (
  SELECT v.service, v.old_version, v.version, b.site_id, b.blocked_ns, CAST(0 AS BIGINT) AS old_blocked_ns
  FROM versions v JOIN blocked b ON b.service = v.service AND b.version = v.version
  WHERE v.old_version IS NOT NULL
  UNION ALL
  SELECT v.service, v.old_version, v.version, b.site_id, CAST(0 AS BIGINT) AS blocked_ns, b.blocked_ns AS old_blocked_ns
  FROM versions v JOIN blocked b ON b.service = v.service AND b.version = v.old_version),
rates AS (
  SELECT p.service, p.old_version, p.version, p.site_id,
         CAST(sum(p.blocked_ns) AS DOUBLE) / nullif(max(v.running_ns), 0) * 1e9 AS new_rate,
         CAST(sum(p.old_blocked_ns) AS DOUBLE) / nullif(max(v.old_running_ns), 0) * 1e9 AS old_rate
  FROM pairs p JOIN versions v ON v.service = p.service AND v.version = p.version
  GROUP BY p.service, p.old_version, p.version, p.site_id)
SELECT r.service, r.old_version, r.version AS new_version, s.lock, s.class, r.old_rate AS old_ns_per_s,
       r.new_rate AS new_ns_per_s, r.new_rate - r.old_rate AS more_ns_per_s
FROM rates r JOIN site s ON s.site_id = r.site_id;

-- Hosts beside the median of their service and version.
CREATE VIEW outlier_hosts AS
WITH hosts AS (
  SELECT l.service, l.version, j.host, count(DISTINCT l.jvm_id) AS jvms, sum(l.running_ns) AS running_ns,
         sum(l.blocked_ns) AS blocked_ns
  FROM (SELECT service, version, jvm_id, sum(running_ns) AS running_ns, CAST(0 AS BIGINT) AS blocked_ns
        FROM load_minute GROUP BY service, version, jvm_id
        UNION ALL
        SELECT service, version, jvm_id, CAST(0 AS BIGINT) AS running_ns, sum(blocked_ns) AS blocked_ns
        FROM lock_minute GROUP BY service, version, jvm_id) l
  JOIN (SELECT jvm_id, max(host) AS host FROM jvm GROUP BY jvm_id) j ON j.jvm_id = l.jvm_id
  GROUP BY l.service, l.version, j.host),
rates AS (
  SELECT service, version, host, jvms, CAST(blocked_ns AS DOUBLE) / nullif(running_ns, 0) * 1e9 AS ns_per_s
  FROM hosts),
medians AS (
  SELECT service, version, count(*) AS hosts, median(ns_per_s) AS median_ns_per_s
  FROM rates GROUP BY service, version)
SELECT r.service, r.version, r.host, r.jvms, m.hosts, r.ns_per_s, m.median_ns_per_s,
       r.ns_per_s - m.median_ns_per_s AS more_ns_per_s
FROM rates r JOIN medians m ON m.service = r.service AND m.version = r.version;

-- Histograms added up, one row a bucket, with its bounds.
CREATE VIEW lock_durations AS
WITH buckets AS (
  SELECT service, version, site_id, {each}(histogram) AS b FROM lock_minute),
sums AS (
  SELECT service, version, site_id, b['bucket'] AS bucket, sum(b['count']) AS contentions
  FROM buckets GROUP BY service, version, site_id, b['bucket'])
SELECT c.service, c.version, s.lock, c.bucket, c.contentions,
       CASE WHEN c.bucket < 16 THEN CAST(c.bucket AS DOUBLE)
            ELSE (16 + c.bucket % 16) * power(CAST(2 AS DOUBLE), (c.bucket - c.bucket % 16) / 16 - 1) END AS from_ns,
       CASE WHEN c.bucket < 16 THEN CAST(c.bucket + 1 AS DOUBLE)
            ELSE (17 + c.bucket % 16) * power(CAST(2 AS DOUBLE), (c.bucket - c.bucket % 16) / 16 - 1) END AS below_ns
FROM sums c JOIN site s ON s.site_id = c.site_id;

-- Rollups: what minutes come to in an hour or a day, over all JVMs of a service and version. `fleet compact` keeps the
-- hours of locks and of load in tables `..._hour_part`; `..._minute_open` has the minutes for which no hours are kept.
CREATE VIEW lock_{span} AS
WITH minutes AS (SELECT date_trunc('{unit}', ts) AS start_ts, * FROM lock_{minutes})
SELECT start_ts AS ts, service, version, site_id, kind, count(DISTINCT jvm_id) AS jvms,
       sum(contentions) AS contentions, sum(blocked_ns) AS blocked_ns, sum(handoff_ns) AS handoff_ns,
       sum(unknown_ns) AS unknown_ns, sum(pause_ns) AS pause_ns, max(max_ns) AS max_ns
FROM minutes
GROUP BY start_ts, service, version, site_id, kind;

CREATE VIEW wait_{period} AS
WITH minutes AS (SELECT date_trunc('{period}', ts) AS start_ts, * FROM wait_minute)
SELECT start_ts AS ts, service, version, site_id, synchronizer, count(DISTINCT jvm_id) AS jvms,
       sum(waits) AS waits, sum(waited_ns) AS waited_ns, max(max_ns) AS max_ns
FROM minutes
GROUP BY start_ts, service, version, site_id, synchronizer;

CREATE VIEW load_{span} AS
WITH minutes AS (SELECT date_trunc('{unit}', ts) AS start_ts, * FROM load_{minutes})
SELECT start_ts AS ts, service, version, count(DISTINCT jvm_id) AS jvms,
       sum(covered_ns) AS covered_ns, sum(running_ns) AS running_ns, sum(cpu_ns) AS cpu_ns,
       sum(steal_ns) AS steal_ns, sum(operations) AS operations, sum(dropped) AS dropped
FROM minutes
GROUP BY start_ts, service, version;

CREATE VIEW lock_hour AS
SELECT ts, service, version, site_id, kind, jvms, contentions, blocked_ns, handoff_ns, unknown_ns, pause_ns, max_ns
FROM lock_hour_part
UNION ALL
SELECT ts, service, version, site_id, kind, jvms, contentions, blocked_ns, handoff_ns, unknown_ns, pause_ns, max_ns
FROM lock_hour_open;

CREATE VIEW load_hour AS
SELECT ts, service, version, jvms, covered_ns, running_ns, cpu_ns, steal_ns, operations, dropped FROM load_hour_part
UNION ALL
SELECT ts, service, version, jvms, covered_ns, running_ns, cpu_ns, steal_ns, operations, dropped FROM load_hour_open;

-- `top_sites` for long ranges. Without `jvms`: how many there are in several hours is not known from how many there are
-- in each.
CREATE VIEW top_sites_from_hours AS
SELECT l.service, l.version, l.site_id, s.lock, s.class, s.kind, l.contentions, l.blocked_ns, l.handoff_ns,
       l.unknown_ns, l.max_ns,
       CASE WHEN v.running_ns > 0 THEN CAST(l.blocked_ns AS DOUBLE) / v.running_ns END AS blocked_share
FROM (SELECT service, version, site_id, sum(contentions) AS contentions, sum(blocked_ns) AS blocked_ns,
             sum(handoff_ns) AS handoff_ns, sum(unknown_ns) AS unknown_ns, max(max_ns) AS max_ns
      FROM lock_hour
      GROUP BY service, version, site_id) l
JOIN site s ON s.site_id = l.site_id
JOIN (SELECT service, version, sum(running_ns) AS running_ns FROM load_hour GROUP BY service, version) v
  ON v.service = l.service AND v.version = l.version;

-- Histograms of a lock's contentions, one row a bucket.
CREATE VIEW duration_{period} AS
WITH buckets AS (
  SELECT date_trunc('{period}', ts) AS start_ts, service, version, site_id, {each}(histogram) AS b FROM lock_minute),
sums AS (
  SELECT start_ts, service, version, site_id, b['bucket'] AS bucket, sum(b['count']) AS contentions
  FROM buckets GROUP BY start_ts, service, version, site_id, b['bucket'])
SELECT start_ts AS ts, service, version, site_id, bucket, contentions FROM sums;
