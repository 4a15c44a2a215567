// The page: keeps the latest figures, bounded, and shows them. It works nothing out that the daemon
// could have: what is drawn is what came.
"use strict";

const MOST = { moments: 600, minutes: 1440 };
const STATES = [
  ["to_come", "to come", "not drawn yet"],
  ["planned", "planned", "drawn, in order"],
  ["preparing", "preparing", "with a worker, or waiting for one"],
  ["ready", "ready", "in memory, for the next batches"],
  ["held", "in use", "in the hands of jobs"],
];
const TIERS = {
  memory: ["this machine's memory", "var(--c2)"],
  other_nodes: ["memory of other nodes", "var(--c4)"],
  storage: ["storage: read and prepared", "var(--c1)"],
};
const COLUMNS = [
  ["Job", "l", ""],
  ["Reads", "l", "its dataset, as it says"],
  ["Shares with", "l", "jobs that prepare the same rows in the same way"],
  ["Epoch", "", ""],
  ["Done", "l", "part of this pass"],
  ["Left", "", "until the end of this pass"],
  ["Samples/s", "", "in the last five seconds"],
  ["Waits", "", "part of the time in which it has no batch"],
  ["Delivered", "", "samples that it got"],
  ["Prepared", "", "samples that workers prepared for it"],
  ["Saved", "", "part of its samples that were there already"],
  ["Work", "", "part of what workers do now that is for it"],
];
const NEEDS = [
  ["pinned_bytes", "in use now", "var(--c0)"],
  ["needed_by_many_bytes", "several jobs need it", "var(--c2)"],
  ["needed_by_one_bytes", "one job needs it", "var(--c1)"],
  ["needed_by_none_bytes", "no job needs it", "var(--c6)"],
];
const STAGES = [["computing_s", "computing", "var(--c1)"], ["storage_s", "waiting for storage", "var(--c0)"]];
const known = { node: null, moments: [], minutes: [], past: [] };
const open = new Set();
let range = "moments";
const $ = (id) => document.getElementById(id);
const number = (value) => Math.round(value).toLocaleString("en-US");
const rate = (value) => (value >= 10 || !value ? number(value) : value.toFixed(1));
const percent = (value) => `${Math.round(value * 100)}%`;
const size = (value) => (value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : `${rate(value / 2 ** 20)} MiB`);
const color = (id) => `var(--c${(id - 1) % 8})`;

// Its spaces do not break: a number stays beside its unit.
function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return `${s}\u00a0s`;
  if (s < 3600) return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}\u00a0min`;
  if (s < 86400) return `${Math.floor(s / 3600)}\u00a0h\u00a0${Math.floor((s % 3600) / 60)}\u00a0min`;
  return `${Math.floor(s / 86400)}\u00a0d\u00a0${Math.floor((s % 86400) / 3600)}\u00a0h`;
}

function take(run) {
  if (!known.node || run.node.pid !== known.node.pid) known.moments = [], known.minutes = [];
  for (const kind of ["moments", "minutes"]) {
    const last = known[kind].length ? known[kind][known[kind].length - 1].time : 0;
    known[kind] = known[kind].concat(run[kind].filter((one) => one.time > last)).slice(-MOST[kind]);
  }
  known.node = run.node;
  known.past = run.past;
  if (document.hidden) showSaved(known.node); // its title is seen all the same
  else show();
}

function show() {
  const { node } = known;
  if (!node) return;
  $("who").textContent = `version ${node.version}, daemon ${node.pid}, up ${duration(node.uptime_s)}`;
  showSaved(node);
  showTiles(node);
  showJobs(node);
  showNodes(node.cluster);
  showCharts();
  showFlow(node);
  showTiers(node.tiers);
  showMatrix(node.jobs);
  showStages(node.jobs);
}

function showSaved({ totals: own, cluster }) {
  const totals = cluster && cluster.totals.saved !== null ? cluster.totals : own;
  const where = totals === own ? "" : ` on ${cluster.nodes.length} nodes`;
  $("saved-part").hidden = totals.saved === null;
  $("saved-words").textContent = sentence(totals, where);
  $("saved-bar").replaceChildren();
  document.title = totals.saved === null ? "joader" : `${percent(totals.saved)} saved – joader`;
  if (totals.saved === null) return;
  $("saved").textContent = percent(totals.saved);
  const pieces = [["prepared", totals.prepared, "prepared"], ["there already", totals.hits, "hits"]].filter(([, count]) => count);
  const letters = $("saved-bar").clientWidth / 9;
  $("saved-bar").append(...pieces.map(([words, count, kind]) => {
    const room = (letters * count) / totals.delivered;
    const piece = element("span", { class: kind }, [`${number(count)} ${words}`, number(count), ""].find((text) => text.length < room) || "");
    piece.style.flexGrow = String(count);
    return piece;
  }));
}

// What joader is good for here, for who has never seen it. Only this node knows what CPU time it saved.
function sentence({ delivered, prepared, hits, saved_cpu_s: cpu }, where) {
  if (!delivered) return "Waiting for the first samples.";
  if (!hits) return `${number(delivered)} samples prepared${where}, and none saved yet: another job that reads the same data gets them for free.`;
  const time = cpu >= 1 ? ` That saved ${duration(cpu)} of CPU time.` : "";
  return `Jobs${where} got ${number(delivered)} samples, and only ${number(prepared)} had to be prepared.${time}`;
}

function showTiles(node) {
  const { memory } = node;
  const tiles = [
    [rate(node.delivered_per_s), "samples/s delivered"],
    [rate(node.prepared_per_s), "samples/s prepared"],
    [`${node.cpu_cores.toFixed(1)} of ${node.cores}`, node.cores === 1 ? "core busy preparing" : "cores busy preparing"],
    [percent(memory.used_bytes / (memory.budget_bytes || 1)), `of ${size(memory.budget_bytes)} memory used`],
  ];
  $("tiles").replaceChildren(...tiles.map(([value, words]) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, words))));
}

function names() {
  return new Map([...known.past, ...(known.node ? known.node.jobs : [])].map((job) => [job.id, label(job)]));
}

function label(job) {
  return job.world_size > 1 ? `${job.name}, rank ${job.rank}` : job.name;
}

function showJobs(node) {
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.job : undefined;
  if (!node.jobs.length) {
    $("jobs").replaceChildren(element("p", { class: "note" }, "No job reads now."));
    return;
  }
  const head = element("tr", {}, ...COLUMNS.map(([name, kind, words]) => element("th", { scope: "col", class: kind, title: words }, name)));
  const rows = node.jobs.flatMap((job) => (open.has(job.id) ? [row(job), more(job)] : [row(job)]));
  $("jobs").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  if (focused) {
    const again = $("jobs").querySelector(`button[data-job="${CSS.escape(focused)}"]`);
    if (again) again.focus();
  }
}

function row(job) {
  const toggle = element("button", { type: "button", class: "name", "aria-expanded": String(open.has(job.id)), "data-job": job.id, onclick: () => { if (!open.delete(job.id)) open.add(job.id); show(); } }, label(job));
  const saves = job.saved || 0;
  const called = names();
  const others = job.shares_with.map((id) => called.get(id) || `job ${id}`);
  const cells = [
    ["Reads", job.table || job.dataset || "–", "l line words"],
    ["Shares with", others.length > 2 ? `${others.length} jobs` : others.join(", ") || "nobody", "l line words", others.join(", ")],
    ["Epoch", String(job.epoch), ""],
    ["Done", null, "l line"],
    ["Left", job.time_left_s === null ? "–" : duration(job.time_left_s), ""],
    ["Samples/s", rate(job.samples_per_s), ""],
    ["Waits", percent(job.waiting), job.waiting > 0.3 ? "warn" : ""],
    ["Delivered", number(job.delivered), "line"],
    ["Prepared", number(job.prepared), "line"],
    ["Saved", percent(saves), saves > 0 ? "good" : ""],
    ["Work", percent(job.worker_share), ""],
  ];
  return element("tr", {}, element("th", { scope: "row", class: "l" }, swatch(color(job.id)), toggle), ...cells.map(([name, text, kind, title]) => {
    const cell = element("td", { "data-label": name, class: kind }, ...(text === null ? [] : [text]));
    if (text === null) cell.append(metered(job.done, color(job.id), percent(job.done)));
    if (kind.includes("words")) cell.title = title || text;
    return cell;
  }));
}

function more(job) {
  const called = names();
  const taken = Object.entries(job.taken_from).map(([id, count]) => `${number(count)} from ${called.get(Number(id)) || `job ${id}`}`);
  const others = job.shares_with.map((id) => called.get(id) || `job ${id}`);
  const facts = [
    `Process ${job.pid}, reads ${job.table || job.dataset || "a dataset"}.`,
    others.length ? `Shares with ${others.join(", ")}.` : "Shares with nobody.",
    `${number(job.position)} of ${number(job.rows)} samples of this pass.`,
    `${number(job.delivered)} delivered, ${number(job.prepared)} prepared for it, ${number(job.hits)} hits: ${duration(job.saved_s)} of worker time saved, ${duration(job.saved_cpu_s)} of it CPU time.`,
    `Waited ${duration(job.wait_s)} in all.`,
    taken.length ? `Took ${taken.join(", ")}.` : "Took nothing from other jobs.",
    job.why ? `Workers: ${job.why}.` : "",
  ];
  return element("tr", { class: "more" }, element("td", { colspan: COLUMNS.length }, facts.join(" ")));
}

function showCharts() {
  const moments = known[range];
  const times = moments.map((one) => one.time);
  const called = names();
  const ids = [...new Set(moments.flatMap((one) => Object.keys(one.jobs)))].map(Number).sort((a, b) => a - b);
  const last = moments[moments.length - 1];
  chart($("work"), times, [
    { name: "delivered/s", color: "var(--c0)", fill: 0.18, values: moments.map((m) => m.delivered_per_s), latest: last && rate(last.delivered_per_s) },
    { name: "prepared/s", color: "var(--c1)", fill: 0.3, values: moments.map((m) => m.prepared_per_s), latest: last && rate(last.prepared_per_s) },
  ], { format: rate, label: last ? `Now ${rate(last.delivered_per_s)} delivered and ${rate(last.prepared_per_s)} prepared per second` : "No figures yet" });
  const jobs = (field, words, options) => {
    const series = ids.map((id) => ({ name: called.get(id) || `job ${id}`, color: color(id), values: moments.map((m) => (m.jobs[id] || {})[field] || 0), latest: last && last.jobs[id] ? words(last.jobs[id][field]) : undefined }));
    return [series, { format: words, ...options, label: series.map(({ name, latest }) => `${name} ${latest || "ended"}`).join(", ") || "No jobs yet" }];
  };
  chart($("rates"), times, ...jobs("samples_per_s", rate, { stacked: true }));
  chart($("waits"), times, ...jobs("waiting", percent, { top: 1, nested: true }));
  chart($("shares"), times, ...jobs("worker_share", percent, { stacked: true, top: 1 }));
  const budget = known.node.memory.budget_bytes;
  $("memory-note").textContent = `${size(known.node.memory.used_bytes)} of ${size(budget)} hold prepared samples. What several jobs need stays longest.`;
  chart($("memory"), times, NEEDS.map(([field, name, hue]) => ({ name, color: hue, values: moments.map((m) => m.memory[field]), latest: last && size(last.memory[field]) })),
    { stacked: true, top: budget, format: size, label: NEEDS.map(([field, name]) => `${name} ${last ? size(last.memory[field]) : "not known"}`).join(", ") });
}

// Changed in place, not drawn anew, so that bars move to where they are now.
function showFlow({ flow, delivered_per_s: speed }) {
  if (!$("flow").children.length) {
    $("flow").append(...STATES.map(([field, name, words]) => element("li", { id: `flow-${field}` }, element("span", {}, name), element("b", {}, "0"),
      element("span", { class: "track", "aria-hidden": "true" }, element("i")), element("small", {}, words))), element("li", { class: "end" }, element("span", {}, "delivered"), element("b", { id: "flow-speed" }), element("small", {}, "samples per second")));
  }
  const most = Math.max(1, ...STATES.slice(1).map(([field]) => flow[field]));
  for (const [field] of STATES) {
    const place = $(`flow-${field}`);
    place.querySelector("b").textContent = number(flow[field]);
    // Not its width: that would be laid out again for each picture of the movement.
    place.querySelector("i").style.transform = `scaleX(${field === "to_come" ? Number(flow.to_come > 0) : flow[field] / most})`;
  }
  $("flow-speed").textContent = rate(speed);
}

function showTiers(tiers) {
  const most = Math.max(1, ...tiers.map((tier) => tier.samples));
  const head = element("tr", {}, ...["From", "Samples", "Holds"].map((title, at) => element("th", { scope: "col", class: at ? "" : "l" }, title)));
  const rows = tiers.map((tier) => {
    const [words, hue] = TIERS[tier.name] || [tier.name, "var(--c0)"];
    const count = element("td", { "data-label": "Samples" }, metered(tier.samples / most, hue, number(tier.samples)));
    return element("tr", {}, element("th", { scope: "row", class: "l" }, words), count, element("td", { "data-label": "Holds" }, held(tier)));
  });
  $("tiers").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function metered(part, hue, words) {
  return element("span", {}, element("span", { class: "meter", "aria-hidden": "true" }, filled(part, hue)), words);
}

function held({ used_bytes: used, budget_bytes: budget }) {
  return budget ? `${size(used)} of ${size(budget)}` : "–";
}

function showNodes(cluster) {
  $("nodes-section").hidden = !cluster;
  if (!cluster) return;
  $("nodes-note").textContent = `Led by ${cluster.leader}${cluster.leader_reached ? "" : ", which is not reached now"}. ` +
    `${number(cluster.fetched)} rows came to this node from others, ${number(cluster.sent)} went to them.`;
  const titles = ["Node", "", "Cores", "Prepared", "Fetched", "Sent", "Memory"];
  const head = element("tr", {}, ...titles.map((title, at) => element(title ? "th" : "td", title ? { scope: "col", class: at < 2 ? "l" : "" } : {}, title)));
  const rows = cluster.nodes.map((node) => {
    const memory = element("td", { "data-label": "Memory", class: "line" }, metered(node.used_bytes / (node.budget_bytes || 1), "var(--c2)", held(node)));
    const place = element("td", { "data-label": "Link", class: node.here || node.linked ? "l" : "l warn" }, node.here ? "this one" : node.linked ? "linked" : "not linked");
    const counts = [["Cores", node.cores], ["Prepared", node.prepared], ["Fetched", node.fetched], ["Sent", node.sent]];
    return element("tr", {}, element("th", { scope: "row", class: "l" }, node.name), place, ...counts.map(([name, count]) => element("td", { "data-label": name }, number(count))), memory);
  });
  $("nodes").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function showMatrix(jobs) {
  if (jobs.length < 2) {
    $("matrix").replaceChildren(element("p", { class: "note" }, "One job alone shares with nobody. Start a second one that reads the same data."));
    return;
  }
  const most = Math.max(1, ...jobs.flatMap((job) => Object.values(job.taken_from)));
  const head = element("tr", {}, element("td", {}, ""), ...jobs.map((job) => element("th", { scope: "col", title: label(job) }, `${job.id}`)));
  const rows = jobs.map((job) => element("tr", {}, element("th", { scope: "row", class: "l" }, `${job.id}  ${label(job)}`), ...jobs.map((other) => {
    if (other.id === job.id) return element("td", {}, "·");
    const count = job.taken_from[other.id] || 0;
    const cell = element("td", { class: "heat" }, number(count));
    const heat = document.createElement("i");
    heat.style.opacity = String((count / most) * 0.4);
    cell.append(heat);
    return cell;
  })));
  $("matrix").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function showStages(jobs) {
  if (!jobs.length) { $("stages").replaceChildren(); return; }
  const ms = (seconds) => (seconds ? (seconds * 1000).toFixed(seconds < 0.1 ? 2 : 0) : "–");
  const most = Math.max(1e-9, ...jobs.map((job) => job.row_s));
  const title = (words, kind, ...before) => element("th", { scope: "col", class: kind }, ...before, words);
  const head = element("tr", {}, title("Job", "l"), element("td", {}), title("A worker takes", ""), ...STAGES.map(([, words, hue]) => title(words, "", swatch(hue))), title("Own part takes", ""), title("Job waits", ""));
  const rows = jobs.map((job) => {
    const track = element("span", { class: "track", "aria-hidden": "true" });
    track.style.width = `${(job.row_s / most) * 100}%`;
    track.append(...STAGES.map(([field, , hue]) => filled(job[field] / (job.row_s || 1), hue)));
    const figures = [["A worker takes", job.row_s], ...STAGES.map(([field, words]) => [words, job[field]]), ["Own part takes", job.own_row_s], ["Job waits", job.wait_per_sample_s]];
    return element("tr", {}, element("th", { scope: "row", class: "l" }, label(job)), element("td", { class: "l stack" }, track), ...figures.map(([name, value]) => element("td", { "data-label": name }, ms(value))));
  });
  $("stages").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function say(text, kind) {
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").className = kind;
}

for (const kind of ["moments", "minutes"]) {
  $(`range-${kind}`).addEventListener("click", () => {
    range = kind;
    for (const other of ["moments", "minutes"]) $(`range-${other}`).setAttribute("aria-pressed", String(other === kind));
    show();
  });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) show(); });

function listen(token) {
  const query = `?token=${encodeURIComponent(token)}`;
  const link = (href, text) => element("a", { href: href + query }, text);
  $("files").replaceChildren("Keep it: ", link("summary.html", "this page as one file"), ", ", link("summary.json", "its figures as JSON"), ", ", link("metrics", "Prometheus metrics"), ".");
  say("connecting", "");
  const events = new EventSource(`events${query}`);
  events.addEventListener("run", (event) => { say("live", "live"); take(JSON.parse(event.data)); });
  events.addEventListener("gone", (event) => say(`${JSON.parse(event.data).error} Waiting for the next daemon.`, "gone"));
  events.onerror = () => say("The dashboard does not answer; trying again.", "gone");
}

const kept = $("run");
if (kept) {
  take(JSON.parse(kept.textContent));
  const when = known.node ? new Date(known.node.time * 1000).toLocaleString() : "";
  say(`as it was at ${when}`, "");
  if (known.moments.length < 2 && known.minutes.length > 1) $("range-minutes").click();
} else {
  listen(new URLSearchParams(location.search).get("token") || "");
}
