//! The timeline of a run as a page, and what it asks for while somebody looks at it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use gpuscope_analysis::timeline::{Atlas, TrackSort};

use crate::api::{self, pairs};
use crate::asker::{Problem, ProblemKind};
use crate::index::Run;
use crate::shared::Shared;
use crate::{pages, routes};

/// In addresses whose sight was put on the step already.
const PLACED: &str = "placed";

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/runs/{run}/timeline/{rank}/", get(page))
        .route("/runs/{run}/timeline/{rank}/{what}", get(part))
}

fn asked_for(shared: &Shared, id: &str, rank: &str) -> Result<(Run, Option<u32>), Problem> {
    let run = shared.run(id)?;
    let rank = match rank {
        "all" => None,
        number => Some(number.parse::<u32>().map_err(|_| {
            Problem::new(ProblemKind::Missing, format!("there is no rank {number}"), "a number, or all")
        })?),
    };
    Ok((run, rank))
}

async fn page(
    State(shared): State<Arc<Shared>>,
    Path((id, rank)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let shown = shown(&shared, &id, &rank, query.as_deref(), &headers).await;
    shown.unwrap_or_else(|problem| {
        let run = shared.run(&id).ok();
        pages::failed(&problem, &pages::bar(&shared, pages::BELOW_TIMELINE, run.as_ref(), "timeline", ""))
    })
}

async fn shown(
    shared: &Arc<Shared>,
    id: &str,
    rank: &str,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let mut words = pairs(query);
    // The form names the rank as all forms do; here it is part of the path.
    if let Some(named) = words.remove("rank").and_then(|mut ranks| ranks.pop()) {
        let named = if named.parse::<u32>().is_ok() { named } else { "all".to_owned() };
        return Ok(Redirect::to(&format!("../{named}/{}", pages::query_of(&words))).into_response());
    }
    let (run, rank) = asked_for(shared, id, rank)?;
    let selected: BTreeMap<_, _> = words
        .clone()
        .into_iter()
        .chain(rank.map(|rank| ("rank".to_owned(), vec![rank.to_string()])))
        .collect();
    let top = || {
        let selection = pages::selection(&selected);
        let bar = pages::bar(shared, pages::BELOW_TIMELINE, Some(&run), "timeline", &selection);
        bar + &pages::timeline_form(&selected)
    };
    let known = shared.timelines.known(&run.source, rank);
    if pages::accepts_events(headers) {
        let waiter = if known.is_some() { None } else { Some(shared.timelines.begin(&run.source, rank)?) };
        return Ok(api::progress_of(waiter));
    }
    let atlas = if let Some(atlas) = known {
        atlas
    } else {
        let waiter = shared.timelines.begin(&run.source, rank)?;
        match tokio::time::timeout(pages::AT_ONCE, waiter.outcome()).await {
            Ok(atlas) => atlas?,
            Err(_) => return Ok(pages::followed(waiter, "<h1>Reading</h1>", &top())),
        }
    };
    let step = words.get("step").and_then(|steps| steps.last());
    if let Some((from, to)) =
        step.filter(|_| !words.contains_key(PLACED)).and_then(|step| place_of(&atlas, step))
    {
        words.insert(PLACED.to_owned(), vec!["true".to_owned()]);
        return Ok(Redirect::to(&format!("{}#from={from}&to={to}", pages::query_of(&words))).into_response());
    }
    let answered = routes::answer(&atlas, &run.source.name, "", None);
    Ok(pages::with_bar(answered, &top()).await)
}

async fn part(
    State(shared): State<Arc<Shared>>,
    Path((id, rank, what)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let (run, rank) = asked_for(&shared, &id, &rank)?;
    let atlas = shared.timelines.of(&run.source, rank).await?;
    let title = run.source.name;
    let work = move || routes::answer(&atlas, &title, &what, query.as_deref());
    let failed = |_| Problem::new(ProblemKind::Bug, "the timeline met a bug in gpuscope", "please report it");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// From the beginning of a step to its end, or of several (`4..6`), on the clock of the picture.
fn place_of(atlas: &Atlas, step: &str) -> Option<(i64, i64)> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let (first, last) = match step.split_once("..") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(step)?, number(step)?),
    };
    let picture = atlas.picture();
    let steps = picture.tracks.iter().filter(|track| track.sort == TrackSort::Steps);
    let mut sight: Option<(i64, i64)> = None;
    for lane in steps.flat_map(|track| &track.lanes) {
        for (i, name) in lane.name.iter().enumerate() {
            let is_wanted =
                number_of(&picture.names[*name as usize]).is_some_and(|step| (first..=last).contains(&step));
            if is_wanted {
                let (from, to) = sight.unwrap_or((i64::MAX, i64::MIN));
                sight = Some((from.min(lane.start[i].0), to.max(lane.end[i].0)));
            }
        }
    }
    sight
}

/// `ProfilerStep#12` is step 12.
fn number_of(name: &str) -> Option<i64> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use gpuscope_analysis::timeline::{Lane, Picture, Track};
    use gpuscope_trace::Ns;

    use super::*;

    #[test]
    fn a_step_is_found_on_every_rank() {
        let track = |rank: u32, by: i64| Track {
            group: format!("rank {rank}"),
            title: "steps".to_owned(),
            sort: TrackSort::Steps,
            lanes: vec![Lane {
                start: vec![Ns(by), Ns(100 + by)],
                end: vec![Ns(90 + by), Ns(190 + by)],
                name: vec![0, 1],
                kind: vec![0, 0],
                note: vec![0, 0],
            }],
            counter: None,
        };
        let names = vec!["ProfilerStep#5".to_owned(), "ProfilerStep#6".to_owned()];
        let tracks = vec![track(0, 0), track(1, 7)];
        let notes = vec![String::new()];
        let atlas = Atlas::new(Picture { length: Ns(200), names, notes, tracks, ..Picture::default() });
        assert_eq!(place_of(&atlas, "6"), Some((100, 197)));
        assert_eq!(place_of(&atlas, "5..6"), Some((0, 197)));
        assert_eq!((place_of(&atlas, "7"), place_of(&atlas, "x")), (None, None));
    }
}
