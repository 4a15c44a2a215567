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
  ["Saved", "", "part of its samples that it reused"],
  ["Work", "", "part of what workers do now that is for it"],
];
const PAST_COLUMNS = [
  ["Job", "l", ""],
  ["Reads", "l", "its dataset, as it says"],
  ["Ended", "", ""],
  ["After", "", "from its start to its end"],
  ["Samples/s", "", "of all its time"],
  ["Waited", "", "part of its time in which it had no batch"],
  ["Delivered", "", "samples that it got"],
  ["Prepared", "", "samples that workers prepared for it"],
  ["Saved", "", "part of its samples that it reused"],
];
const NEEDS = [
  ["pinned_bytes", "in use now", lookOf(0)],
  ["needed_by_many_bytes", "several jobs need it", lookOf(2)],
  ["needed_by_one_bytes", "one job needs it", lookOf(1)],
  ["needed_by_none_bytes", "no job needs it", lookOf(6)],
];
const STAGES = [
  ["computing", "var(--c1)", (job) => job.computing_s],
  ["waiting for storage", "var(--c0)", (job) => job.storage_s],
  ["waiting for a core", "var(--c3)", (job) => (job.row_s ? Math.max(0, job.row_s - job.computing_s - job.storage_s) : 0)],
];
// Of jobs that have ended: rows of their table at first, and strips beside those of jobs that read.
const PAST_ROWS = 6;
const STRIPS = 16;
// With so many jobs the matrix needs the whole width.
const MATRIX_HALF = 6;
// So many letters of a name are on two lines of a table's first column.
const TWO_LINES = 42;
const known = { node: null, moments: [], minutes: [], past: [], machine: null };
const looks = new Map(); // by job: which of the looks is its
const open = new Set();
let range = "moments";
let allPast = false;
const pastToggle = element("button", { type: "button", id: "past-all", onclick: () => { allPast = !allPast; show(); } });
const $ = (id) => document.getElementById(id);
const number = (value) => Math.round(value).toLocaleString("en-US");
const rate = (value) => (value >= 10 || !value ? number(value) : value.toFixed(1));
const percent = (value) => `${Math.round(value * 100)}%`;
const size = (value) => (value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(1)} GiB` : `${rate(value / 2 ** 20)} MiB`);
const look = (id) => (looks.has(id) ? lookOf(looks.get(id)) : PLAIN_LOOK);
const label = (job) => job.label || job.name;
const narrow = () => matchMedia("(max-width: 820px)").matches;
const short = (job, letters = 26) => `#${job.id} ${cut(label(job), letters)}`;

// Its spaces do not break: a number stays beside its unit.
function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return `${s}\u00a0s`;
  if (s < 3600) return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}\u00a0min`;
  if (s < 86400) return `${Math.floor(s / 3600)}\u00a0h\u00a0${Math.floor((s % 3600) / 60)}\u00a0min`;
  return `${Math.floor(s / 86400)}\u00a0d\u00a0${Math.floor((s % 86400) / 3600)}\u00a0h`;
}

function take(run) {
  if (!known.node || run.node.pid !== known.node.pid) known.moments = [], known.minutes = [], looks.clear();
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
  showStart();
  if (!node) return;
  dress(node.jobs);
  $("who").textContent = `version ${node.version}, daemon ${node.pid}, up ${duration(node.uptime_s)}`;
  showVerdict(node.diagnosis);
  showSaved(node);
  showTiles(node);
  showMachine(node);
  showJobs(node);
  showPast(node);
  showNodes(node.cluster);
  showCharts(node);
  showFlow(node);
  showTiers(node.tiers);
  showMatrix(inView(node));
  showStages(inView(node));
  letScroll();
}

// Before anything was done there is nothing to see but how to begin.
function showStart() {
  const { node, past } = known;
  const nothing = !node || !(node.jobs.length || past.length || node.totals.delivered);
  $("start").hidden = !nothing;
  $("main").classList.toggle("empty", nothing);
}

function showVerdict(diagnosis) {
  $("verdict").hidden = !(diagnosis && diagnosis.says);
  if ($("verdict").hidden) return;
  $("verdict").dataset.kind = diagnosis.kind || "";
  $("verdict-says").textContent = diagnosis.says;
  $("verdict-do").textContent = diagnosis.do || "";
}

// The jobs that charts and tables are of: those that read, or else those that did.
function inView({ jobs }) {
  if (jobs.length) return jobs;
  const seen = inWindow();
  return known.past.filter((job) => seen.has(job.id)).slice(-STRIPS).sort((a, b) => a.id - b.id);
}

function inWindow() {
  return new Set(known[range].flatMap((one) => Object.keys(one.jobs)).map(Number));
}

// Each job in sight has a look of its own, and keeps it; one that is out of sight leaves it to others.
function dress(jobs) {
  const ids = new Set([...jobs.map((job) => job.id), ...inWindow()]);
  for (const id of [...looks.keys()]) if (!ids.has(id)) looks.delete(id);
  const taken = new Set(looks.values());
  for (const id of ids) {
    if (looks.has(id)) continue;
    let slot = 0;
    while (taken.has(slot)) slot++;
    looks.set(id, slot);
    taken.add(slot);
  }
}

// What is wider than its place can be reached by keyboard.
function letScroll() {
  for (const place of document.querySelectorAll(".scroll:not(#jobs)")) {
    if (place.scrollWidth > place.clientWidth) {
      place.tabIndex = 0;
      place.setAttribute("role", "region");
      place.setAttribute("aria-label", `${place.closest("section").querySelector("h2").textContent}: wide table`);
    } else for (const name of ["tabindex", "role", "aria-label"]) place.removeAttribute(name);
  }
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
  const pieces = [["prepared", totals.prepared, "prepared"], ["reused", totals.hits, "hits"]].filter(([, count]) => count);
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

function showMachine(node) {
  const { machine } = known;
  $("machine").hidden = !machine;
  if (!machine) return;
  const parts = [];
  const add = (words, part, text) => parts.push(element("span", { class: "part" }, element("b", {}, words), ...(part === null ? [] : [element("span", { class: "meter", "aria-hidden": "true" }, filled(part, part > 0.9 ? "var(--warn)" : "var(--c0)"))]), text));
  const usable = machine.usable_cores < machine.cores ? ` (${machine.usable_cores} usable here)` : "";
  if (machine.busy_cores !== null) add("Cores", machine.busy_cores / machine.cores, `${machine.busy_cores.toFixed(1)} of ${machine.cores} busy${usable}, ${Math.min(node.cpu_cores, machine.busy_cores).toFixed(1)} of them preparing`);
  if (machine.used_bytes !== null) add("Memory", machine.used_bytes / machine.memory_bytes, `${size(machine.used_bytes)} of ${size(machine.memory_bytes)}`);
  if (machine.read_bytes_per_s !== null) add("Disks", machine.disk_busy, `${size(machine.read_bytes_per_s)}/s read, ${size(machine.written_bytes_per_s)}/s written`);
  machine.gpus.forEach((gpu, at) => add(machine.gpus.length > 1 ? `GPU ${at}` : "GPU", gpu.busy, `${gpu.name}, ${percent(gpu.busy)}, ${size(gpu.used_bytes)} of ${size(gpu.memory_bytes)}`));
  $("machine").replaceChildren(...parts);
}

function jobsById() {
  return new Map([...known.past, ...(known.node ? known.node.jobs : [])].map((job) => [job.id, job]));
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
  const name = label(job);
  const toggle = element("button", { type: "button", class: "name", title: name, "aria-expanded": String(open.has(job.id)), "data-job": job.id, onclick: () => { if (!open.delete(job.id)) open.add(job.id); show(); } }, cut(name, TWO_LINES));
  const saves = job.saved || 0;
  const others = job.shares_with.map((id) => `#${id}`);
  const cells = [
    ["Reads", job.table || job.dataset || "–", "l line words"],
    ["Shares with", others.length > 3 ? `${others.length} jobs` : others.join(", ") || "nobody", "l line words", others.join(", ")],
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
  return element("tr", {}, element("th", { scope: "row", class: "l" }, swatch(look(job.id)), element("span", { class: "id" }, `#${job.id}`), toggle), ...cells.map(([title, text, kind, whole]) => {
    const cell = element("td", { "data-label": title, class: kind }, ...(text === null ? [] : [text]));
    if (text === null) cell.append(metered(job.done, look(job.id), percent(job.done)));
    if (kind.includes("words")) cell.title = whole || text;
    return cell;
  }));
}

function more(job) {
  const taken = Object.entries(job.taken_from).sort((a, b) => b[1] - a[1]).map(([id, count]) => `${number(count)} from #${id}`);
  const says = job.diagnosis && job.diagnosis.says ? [job.diagnosis.says, job.diagnosis.do].filter(Boolean).join(" ") : "";
  const facts = [
    ["Name", label(job)],
    ["Diagnosis", says],
    ["Process", `${job.pid}, reads ${job.table || job.dataset || "a dataset"}`],
    ["Shares with", job.shares_with.map((id) => `#${id}`).join(", ") || "nobody"],
    ["This pass", `${number(job.position)} of ${number(job.rows)} samples`],
    ["All passes", `${number(job.delivered)} delivered, ${number(job.prepared)} prepared for it, ${number(job.hits)} reused`],
    ["Time saved", `${duration(job.saved_cpu_s)} of CPU, ${duration(job.saved_s)} of workers`],
    ["Waited", `${duration(job.wait_s)} in all`],
    ["Reused", taken.join(", ") || "nothing of other jobs"],
    ["Workers", job.why],
  ];
  const list = element("dl", {}, ...facts.filter(([, words]) => words).map(([title, words]) => element("div", {}, element("dt", {}, title), element("dd", {}, words))));
  return element("tr", { class: "more" }, element("td", { colspan: COLUMNS.length }, list));
}

function showPast(node) {
  const past = known.past.slice().reverse();
  const shown = allPast ? past : past.slice(0, PAST_ROWS);
  $("past-part").hidden = !past.length;
  const head = element("tr", {}, ...PAST_COLUMNS.map(([name, kind, words]) => element("th", { scope: "col", class: kind, title: words }, name)));
  $("past").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...shown.map((job) => pastRow(job, node.time)))));
  if (past.length <= PAST_ROWS) pastToggle.remove();
  else if (!pastToggle.isConnected) $("past-part").append(pastToggle);
  pastToggle.textContent = allPast ? "show fewer" : `show all ${past.length} that ended`;
  pastToggle.setAttribute("aria-expanded", String(allPast));
}

function pastRow(job, now) {
  const name = label(job);
  const cells = [
    ["Reads", job.table || job.dataset || "–", "l line words"],
    ["Ended", job.ended ? `${duration(Math.max(0, now - job.ended))} ago` : "–", "line"],
    ["After", job.ended ? duration(job.ended - job.began) : "–", ""],
    ["Samples/s", rate(job.samples_per_s), ""],
    ["Waited", percent(job.waiting), ""],
    ["Delivered", number(job.delivered), ""],
    ["Prepared", number(job.prepared), ""],
    ["Saved", percent(job.saved || 0), job.saved > 0 ? "good" : ""],
  ];
  const mark = looks.has(job.id) ? [swatch(look(job.id))] : [swatch("transparent")];
  return element("tr", {}, element("th", { scope: "row", class: "l", title: name }, ...mark, element("span", { class: "id" }, `#${job.id}`), element("span", { class: "called" }, cut(name, TWO_LINES))), ...cells.map(([title, text, kind]) => element("td", { "data-label": title, class: kind, ...(kind.includes("words") ? { title: text } : {}) }, text)));
}

function showCharts(node) {
  const moments = known[range];
  const times = moments.map((one) => one.time);
  const last = moments[moments.length - 1];
  chart($("work"), times, [
    { name: "delivered/s", look: lookOf(0), fill: 0.18, values: moments.map((m) => m.delivered_per_s), latest: last && rate(last.delivered_per_s) },
    { name: "prepared/s", look: lookOf(1), fill: 0.3, values: moments.map((m) => m.prepared_per_s), latest: last && rate(last.prepared_per_s) },
  ], { format: rate, label: last ? `Now ${rate(last.delivered_per_s)} delivered and ${rate(last.prepared_per_s)} prepared per second` : "No figures yet" });
  showJobCharts(node, moments, times);
  const budget = node.memory.budget_bytes;
  $("memory-note").textContent = `${size(node.memory.used_bytes)} of ${size(budget)} hold prepared samples. What several jobs need stays longest.`;
  chart($("memory"), times, NEEDS.map(([field, name, its]) => ({ name, look: its, values: moments.map((m) => m.memory[field]), latest: last ? size(last.memory[field]) : "" })),
    { stacked: true, top: budget, format: size, label: NEEDS.map(([field, name]) => `${name} ${last ? size(last.memory[field]) : "not known"}`).join(", ") });
}

function showJobCharts(node, moments, times) {
  const jobs = jobsById();
  const shown = new Set(inView(node).map((job) => job.id));
  const ids = [...inWindow()].sort((a, b) => a - b);
  const reads = new Set(node.jobs.map((job) => job.id));
  const series = (field, words) => ids.map((id) => {
    const job = jobs.get(id) || { id, name: "ended" };
    const now = node.jobs.find((one) => one.id === id);
    const values = moments.map((m) => (m.jobs[id] ? m.jobs[id][field] : null));
    const latest = now ? words(now[field]) : "";
    return { id, name: short(job), title: label(job), look: look(id), values, latest: shown.has(id) ? latest : undefined };
  });
  const named = (all) => all.filter((one) => one.latest !== undefined).map(({ name, latest }) => `${name} ${latest || "ended"}`).join(", ") || "No jobs yet";
  for (const [place, field, words, top] of [["rates", "samples_per_s", rate, 0], ["shares", "worker_share", percent, 1]]) {
    const all = series(field, words);
    chart($(place), times, all, { stacked: true, top, format: words, label: named(all) });
  }
  const waits = series("waiting", percent);
  const past = waits.filter((one) => !reads.has(one.id)).slice(-Math.max(0, STRIPS - reads.size));
  strips($("waits"), times, [...waits.filter((one) => reads.has(one.id)), ...past.reverse().map((one) => ({ ...one, latest: "ended" }))]);
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
  const wide = jobs.length > MATRIX_HALF;
  for (const name of ["matrix", "memory"]) $(`${name}-section`).classList.toggle("wide", wide);
  if (jobs.length < 2) {
    $("matrix").replaceChildren(element("p", { class: "note" }, jobs.length ? "One job alone shares with nobody. Start a second one that reads the same data." : "No job reads now."));
    return;
  }
  const here = new Set(jobs.map((job) => String(job.id)));
  const rest = jobs.map((job) => Object.entries(job.taken_from).filter(([id]) => !here.has(id)).reduce((sum, [, count]) => sum + count, 0));
  const columns = [...jobs.map((job) => [`#${job.id}`, label(job), (from) => (from.id === job.id ? null : from.taken_from[job.id] || 0)])];
  if (rest.some(Boolean)) columns.push(["others", "jobs that ended before", (from) => rest[jobs.indexOf(from)]]);
  const highest = Math.max(1, ...jobs.flatMap((job) => columns.map(([, , of]) => of(job) || 0)));
  const head = element("tr", {}, element("td", {}, ""), ...columns.map(([text, title]) => element("th", { scope: "col", title }, text)));
  const rows = jobs.map((job) => element("tr", {}, element("th", { scope: "row", class: "l", title: label(job) }, swatch(look(job.id)), short(job, narrow() ? 9 : wide ? 26 : 20)), ...columns.map(([, , of]) => {
    const count = of(job);
    if (count === null) return element("td", {}, "·");
    const cell = element("td", { class: count ? "heat" : "heat none" }, number(count));
    const heat = document.createElement("i");
    heat.style.opacity = String((count / highest) * 0.4);
    cell.append(heat);
    return cell;
  })));
  $("matrix").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function showStages(jobs) {
  if (!jobs.length) { $("stages").replaceChildren(element("p", { class: "note" }, "No job reads now.")); return; }
  const ms = (seconds) => (seconds ? (seconds * 1000).toFixed(seconds < 0.1 ? 2 : 0) : "–");
  const longest = Math.max(1e-9, ...jobs.map((job) => job.row_s));
  const title = (words, kind, ...before) => element("th", { scope: "col", class: kind }, ...before, words);
  const head = element("tr", {}, title("Job", "l"), element("td", {}), title("A worker takes", ""), ...STAGES.map(([words, hue]) => title(words, "", swatch(hue))), title("Own part takes", ""), title("Job waits", ""));
  const rows = jobs.map((job) => {
    const track = element("span", { class: "track", "aria-hidden": "true" });
    track.style.width = `${(job.row_s / longest) * 100}%`;
    track.append(...STAGES.map(([, hue, of]) => filled(of(job) / (job.row_s || 1), hue)));
    const figures = [["A worker takes", job.row_s], ...STAGES.map(([words, , of]) => [words, of(job)]), ["Own part takes", job.own_row_s], ["Job waits", job.wait_per_sample_s]];
    return element("tr", {}, element("th", { scope: "row", class: "l", title: label(job) }, short(job)), element("td", { class: "l stack" }, track), ...figures.map(([name, value]) => element("td", { "data-label": name }, ms(value))));
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
  events.addEventListener("machine", (event) => { known.machine = JSON.parse(event.data); if (known.node && !document.hidden) showMachine(known.node); });
  events.addEventListener("gone", (event) => { showStart(); say(`${JSON.parse(event.data).error} Waiting for the next daemon.`, "gone"); });
  events.onerror = () => { showStart(); say("The dashboard does not answer; trying again.", "gone"); };
}

document.body.append(patterns());
const kept = $("run");
if (kept) {
  take(JSON.parse(kept.textContent));
  const when = known.node ? new Date(known.node.time * 1000).toLocaleString() : "";
  say(`as it was at ${when}`, "");
  if (known.moments.length < 2 && known.minutes.length > 1) $("range-minutes").click();
} else {
  listen(new URLSearchParams(location.search).get("token") || "");
}
