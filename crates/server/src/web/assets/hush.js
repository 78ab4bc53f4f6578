// Makes the page of a model live: events of the server change its figures, and a new release
// brings new charts. Without this script the page is the same, as of its last reload.

const now = document.querySelector("[data-live]");
if (now) follow(now);

function follow(now) {
  const batch = Number(now.dataset.batch);
  const batches = Number(now.dataset.batches);
  let open = Number(now.dataset.openBatch);
  let slots = 0;
  let waiting = false;

  const part = (name) => now.querySelector(`[data-${name}]`);
  const show = (name, value) => {
    const element = part(name);
    if (element) element.textContent = grouped(value);
  };

  function fill() {
    const inBatch = Math.max(0, Math.min(batch, slots - open * batch));
    show("slots", slots);
    show("in-batch", inBatch);
    show("open", Math.min(open + 1, batches));
    part("fill")?.setAttribute("width", `${(100 * inBatch) / batch}%`);
  }

  function state(told) {
    open = told.open_batch;
    slots = told.slots;
    show("policy", told.policy);
    show("released", told.released);
    show("closed", told.closed_batches);
    status(told.status);
    closes(told);
    fill();
  }

  function closes(told) {
    const element = part("closes");
    if (!element) return;
    if (told.status === "finished") element.textContent = "";
    else if (told.closes_at) element.textContent = ` · closes at ${clock(told.closes_at)}`;
    else element.textContent = " · closes when it is full";
  }

  function say(words) {
    const log = part("log");
    const row = document.createElement("li");
    row.textContent = words;
    log.prepend(row);
    while (log.children.length > 6) log.lastElementChild.remove();
  }

  // Takes the parts that a release changes from a fresh copy of the page, at most once a second.
  async function refresh() {
    if (waiting) return;
    waiting = true;
    await new Promise((done) => setTimeout(done, 300));
    try {
      const answer = await fetch(location.pathname, { redirect: "error" });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["rewards", "shape", "history"]) {
        const [old, next] = [document.getElementById(id), fresh.getElementById(id)];
        if (old && next && !old.contains(document.activeElement)) {
          old.replaceWith(document.importNode(next, true));
        }
      }
    } catch {
      // The next event tries again.
    } finally {
      setTimeout(() => (waiting = false), 700);
    }
  }

  const events = new EventSource(now.dataset.live);
  const on = (name, work) => events.addEventListener(name, (event) => work(JSON.parse(event.data)));
  events.onopen = () => pulse("live", "live");
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) pulse("off", "not live: reload the page");
    else pulse("off", "connecting again…");
  };
  on("state", state);
  on("slots", (told) => {
    slots = told.slots;
    if (slots > (open + 1) * batch) open = Math.min(batches - 1, Math.floor((slots - 1) / batch));
    fill();
  });
  on("closed", (told) => {
    show("closed", told.batch + 1);
    if (open <= told.batch) open = Math.min(batches - 1, told.batch + 1);
    fill();
    say(`Batch ${grouped(told.batch + 1)} closed at ${clock(told.at)}`);
  });
  on("released", (told) => {
    show("policy", told.version);
    show("released", told.version);
    say(`Release ${grouped(told.version)} published at ${clock(told.at)}`);
    refresh();
  });
  on("finished", () => {
    status("finished");
    say("All batches are closed");
    events.close();
    pulse("done", "finished");
    refresh();
  });
  addEventListener("pagehide", () => events.close());

  function pulse(kind, words) {
    const element = part("pulse");
    element.className = `pulse ${kind}`;
    element.textContent = words;
  }
}

function status(name) {
  const chip = document.querySelector("[data-status]");
  if (!chip || chip.textContent === name) return;
  chip.textContent = name;
  chip.className = `chip chip-${/^[a-z]+$/.test(name) ? name : "paused"}`;
}

function grouped(value) {
  return Number(value).toLocaleString("en-US");
}

function clock(at) {
  return `${at.slice(11, 19)} UTC`;
}

// A page that comes back from the browser's memory is not live any more.
addEventListener("pageshow", (event) => {
  if (event.persisted && document.querySelector("[data-live]")) location.reload();
});
