//! probe
use sametick_lab::*;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let e = match Experiment::read(&text, std::path::Path::new(&file).parent().unwrap(), false) {
        Ok(e) => e,
        Err(w) => {
            println!("{w}");
            return;
        }
    };
    let plan = Plan::new(&e).unwrap();
    let lib = Library::new(&e.folder);
    for t in &plan.trials {
        let log = play(t, &lib, &|h, s| Ok(Box::new(Simulated::new(h, s)))).unwrap();
        println!(
            "{} {}: {} ms ticks {} hash {:x} shots {} hits {} {} aimed {} joined {} kills {:?}",
            t.number,
            plan.conditions[t.condition].label,
            log.wall_ms,
            log.ticks,
            log.world_hash,
            log.shots.len(),
            log.shots.iter().filter(|s| s.hit.is_some()).count(),
            log.hits.len(),
            log.shots.iter().filter(|s| s.aimed.is_some()).count(),
            log.players.iter().filter(|p| p.joined).count(),
            log.players.iter().map(|p| p.kills).collect::<Vec<_>>()
        );
        let s = |f: &dyn Fn(&SecondRow) -> f64| {
            log.seconds.iter().filter(|r| r.player > 0).map(|r| f(r)).sum::<f64>()
        };
        let n = s(&|r| f64::from(r.deviations)).max(1.0);
        println!(
            "   own {:.1} n {} dev {:.3} srv {:.3} stale {:.3} n {} corr {} rtt {:.1}  srv B/s {:.0} lead {:?}",
            s(&|r| r.own_delay_ms) / s(&|r| r.own_delays.into()),
            s(&|r| r.own_delays.into()),
            s(&|r| r.deviation_m) / n,
            s(&|r| r.server_deviation_m) / n,
            s(&|r| r.stale.into()) / n,
            n,
            s(&|r| r.corrections.into()),
            s(&|r| r.round_trip_ms) / s(&|r| r.round_trips.into()),
            log.seconds.iter().filter(|r| r.player == 0).map(|r| r.bytes_out).sum::<u64>() as f64
                / log.seconds.iter().filter(|r| r.player == 0).count() as f64,
            {
                let l: Vec<f64> = log.shots.iter().filter_map(|s| s.lead_m).collect();
                (l.len(), l.iter().sum::<f64>() / l.len().max(1) as f64)
            }
        );
        for l in log.lines.iter().take(2) {
            println!("   {l:?}");
        }
    }
}
