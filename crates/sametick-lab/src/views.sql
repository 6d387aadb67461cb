-- Views named and shaped like FPSci's tables. Each has its trial besides, which FPSci's lack.

CREATE VIEW Experiments AS
SELECT question AS description, created AS time, hash, config FROM experiment;

CREATE VIEW Sessions AS
SELECT t.session AS session_id,
       @utc(MIN(t.begins_us)) AS start_time,
       @utc(MAX(CAST(t.begins_us + t.duration_ms * 1000 AS INTEGER))) AS end_time,
       printf('P%03d', COALESCE(s.seat, t.participant)) AS subject_id,
       t.session AS description,
       1 AS complete,
       COUNT(*) AS tasks_complete,
       COUNT(*) AS trials_complete
FROM trial t LEFT JOIN seat s ON s.participant = t.participant GROUP BY t.session, t.participant, s.seat;

CREATE VIEW Trials AS
SELECT t.session AS session_id, 0 AS block_id, t.name AS task_id, t.place AS task_index,
       c.label AS trial_id, t.repetition AS trial_index,
       @utc(t.begins_us) AS start_time,
       @utc(CAST(t.begins_us + t.duration_ms * 1000 AS INTEGER)) AS end_time,
       COALESCE((SELECT f.value FROM figure f WHERE f.trial = t.trial AND f.name = 'foreperiod'),
                (SELECT f.value FROM figure f WHERE f.trial = t.trial AND f.name = 'wait'), 0.0) / 1000
           AS pretrial_duration,
       CASE WHEN (SELECT COUNT(g.destroyed_ms) FROM target g WHERE g.trial = t.trial)
                 = (SELECT f.value FROM figure f WHERE f.trial = t.trial AND f.name = 'total_targets')
            THEN (SELECT MAX(g.destroyed_ms) - MIN(g.time_ms) FROM target g WHERE g.trial = t.trial)
            ELSE t.duration_ms - COALESCE((SELECT MIN(g.time_ms) FROM target g
                                           WHERE g.trial = t.trial AND g.kind <> 'map'), 0.0)
            END / 1000 AS task_execution_time,
       CASE WHEN EXISTS (SELECT 1 FROM target g WHERE g.trial = t.trial)
            THEN (SELECT COUNT(g.destroyed_ms) FROM target g WHERE g.trial = t.trial)
            ELSE (SELECT COUNT(*) FROM hit h WHERE h.trial = t.trial AND h.is_kill)
            END AS destroyed_targets,
       COALESCE((SELECT CAST(f.value AS INTEGER) FROM figure f
                 WHERE f.trial = t.trial AND f.name = 'total_targets'), -1) AS total_targets,
       t.trial AS trial
FROM trial t JOIN condition c ON c.condition = t.condition;

CREATE VIEW Player_Action AS
SELECT @utc(CAST(t.begins_us + s.time_ms * 1000 AS INTEGER)) AS time,
       s.yaw * 57.29577951308232 AS position_az, s.pitch * 57.29577951308232 AS position_el,
       s.x AS position_x, s.y AS position_y, s.z AS position_z,
       'trialTask' AS state, 'aim' AS event, NULL AS target_id,
       s.player AS player_id, s.trial AS trial
FROM state s JOIN trial t ON t.trial = s.trial
UNION ALL
SELECT @utc(CAST(t.begins_us + s.time_ms * 1000 AS INTEGER)), NULL, NULL, NULL, NULL, NULL, 'trialTask',
       CASE WHEN s.hit IS NULL AND s.target IS NULL THEN 'miss'
            WHEN EXISTS (SELECT 1 FROM target g
                         WHERE g.trial = s.trial AND g.target = s.target AND g.destroyed_tick = s.tick)
            THEN 'destroy'
            WHEN EXISTS (SELECT 1 FROM hit h
                         WHERE h.trial = s.trial AND h.tick = s.tick AND h.player = s.hit AND h.is_kill)
            THEN 'destroy' ELSE 'hit' END,
       CASE WHEN s.target IS NULL THEN CAST(s.hit AS TEXT)
            ELSE printf('target%02d_%d', s.target,
                        (SELECT MAX(g.life) FROM target g
                         WHERE g.trial = s.trial AND g.target = s.target AND g.tick <= s.tick)) END,
       s.player, s.trial
FROM shot s JOIN trial t ON t.trial = s.trial;

CREATE VIEW Target_Trajectory AS
SELECT @utc(CAST(t.begins_us + s.time_ms * 1000 AS INTEGER)) AS time,
       CAST(s.player AS TEXT) AS target_id, 'trialTask' AS state,
       s.x AS position_x, s.y AS position_y, s.z AS position_z, s.trial AS trial
FROM state s JOIN trial t ON t.trial = s.trial
WHERE NOT EXISTS (SELECT 1 FROM target g WHERE g.trial = s.trial)
UNION ALL
SELECT @utc(CAST(t.begins_us + s.time_ms * 1000 AS INTEGER)), printf('target%02d_%d', s.target, s.life),
       'trialTask', s.x, s.y, s.z, s.trial
FROM target_state s JOIN trial t ON t.trial = s.trial;

CREATE VIEW Target_Types AS
SELECT kind AS target_type, motion AS motion_type, space AS dest_space,
       size_least AS min_size, size_most AS max_size,
       is_symmetric_h AS symmetric_ecc_h, is_symmetric_v AS symmetric_ecc_v,
       ecc_h_least AS min_ecc_h, ecc_v_least AS min_ecc_v, ecc_h_most AS max_ecc_h, ecc_v_most AS max_ecc_v,
       speed_least AS min_speed, speed_most AS max_speed,
       turn_s_least AS min_motion_change_period, turn_s_most AS max_motion_change_period,
       motion = 'jumping' AS jump_enabled, NULL AS model_file
FROM target_kind;

CREATE VIEW Targets AS
SELECT printf('target%02d_%d', g.target, g.life) AS target_id, g.kind AS target_type,
       @utc(CAST(t.begins_us + g.time_ms * 1000 AS INTEGER)) AS spawn_time,
       g.size_m AS size, g.ecc_h AS spawn_ecc_h, g.ecc_v AS spawn_ecc_v, g.trial AS trial
FROM target g JOIN trial t ON t.trial = g.trial;

CREATE VIEW Frame_Info AS
SELECT @utc(t.begins_us + s.second * 1000000) AS time,
       1.0 / MAX(s.frames, 1) AS sdt,
       s.round_trip_ms / MAX(s.round_trips, 1) AS latest_RTT,
       CAST(s.player AS TEXT) AS client_guid, s.trial AS trial
FROM second s JOIN trial t ON t.trial = s.trial WHERE s.player > 0;

CREATE VIEW Users AS
SELECT printf('P%03d', COALESCE(s.seat, t.participant)) AS subject_id, t.session AS session_id,
       @utc(MIN(t.begins_us)) AS time,
       NULL AS cmp360, NULL AS mouse_deg_per_mm, NULL AS mouse_dpi,
       (SELECT json_extract(e.detail, '$.sensitivity') FROM event e
        WHERE e.seat = s.seat AND e.kind = 'calibrated' ORDER BY e.number DESC LIMIT 1) AS sensitivity_x,
       (SELECT json_extract(e.detail, '$.sensitivity') FROM event e
        WHERE e.seat = s.seat AND e.kind = 'calibrated' ORDER BY e.number DESC LIMIT 1) AS sensitivity_y,
       MIN(t.trial) AS trial
FROM trial t LEFT JOIN seat s ON s.participant = t.participant GROUP BY t.participant, s.seat, t.session;

CREATE VIEW Questions AS
SELECT @utc(q.answered_us) AS time, t.session AS session_id, t.name AS task_id, t.place AS task_index,
       CASE WHEN q.after = 'trial' THEN c.label END AS trial_id,
       CASE WHEN q.after = 'trial' THEN t.repetition END AS trial_index, q.question AS question,
       q.options AS response_array, NULL AS key_array, q.presented AS presented_responses,
       q.answer AS response, printf('P%03d', q.seat) AS subject_id, q.trial AS trial
FROM question q LEFT JOIN trial t ON t.trial = q.trial LEFT JOIN condition c ON c.condition = t.condition;

CREATE VIEW PlayerConfigs AS
SELECT @utc(t.begins_us) AS time, t.trial AS trial_id, p.player AS player_id, p.role AS playerType,
       (SELECT l.asked_delay_ms FROM line l
        WHERE l.trial = p.trial AND l.player = p.player AND l.way = 'up') AS clientLatency,
       p.trial AS trial
FROM player p JOIN trial t ON t.trial = p.trial;

CREATE VIEW Raw_Remote_Fire_Inputs AS
SELECT @utc(CAST(t.begins_us + s.time_ms * 1000 AS INTEGER)) AS time, s.player AS shooter_id,
       s.seen AS target_id_TimeWarp, s.present AS target_id_No_TimeWarp,
       s.served_x AS target_position_x, s.served_y AS target_position_y, s.served_z AS target_position_z,
       s.seen IS NOT NULL AS Is_a_hit_with_TimeWarp, s.present IS NOT NULL AS Is_a_hit_without_TimeWarp,
       s.tick AS frame_number, s.is_behind_cover AS Is_shot_around_the_corner, s.trial AS trial
FROM shot s JOIN trial t ON t.trial = s.trial;
