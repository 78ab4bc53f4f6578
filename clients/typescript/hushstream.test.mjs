// The client against the engine: node --test, after `tsc` has made hushstream.js.
// With HUSHSTREAM_URL and HUSHSTREAM_TOKENS it is also tried on a server.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const { Hushstream, Policy, Refusal, draw } = await import(process.env.HUSHSTREAM_CLIENT);
const file = new URL("./policies.json", import.meta.url);
const known = JSON.parse(await readFile(file, "utf8"));

test("policies say what the engine says, to 1e-12", () => {
  let compared = 0;
  for (const { file, contexts, probabilities } of known) {
    const policy = new Policy(file);
    contexts.forEach((context, row) => {
      policy.probabilities(context).forEach((chance, arm) => {
        const expected = probabilities[row][arm];
        assert.ok(Math.abs(chance - expected) <= 1e-12, `row ${row}: ${chance} ${expected}`);
        compared += 1;
      });
    });
  }
  assert.ok(compared >= 3 * 8 * 3);
});

test("among some actions, as if there were no others", () => {
  const { file, contexts } = known[0];
  const policy = new Policy(file);
  for (const context of contexts) {
    const [red, green, blue] = policy.probabilities(context, ["green", "blue"]);
    assert.equal(red, 0);
    assert.ok(Math.abs(green + blue - 1) < 1e-12 && Math.min(green, blue) > 0);
    assert.ok(Math.max(green, blue) >= 0.5);
    // None of them is known: all, as the server does.
    assert.deepEqual(policy.probabilities(context, ["x"]), policy.probabilities(context));
  }
});

test("contexts that do not fit are refused in words, without their values", () => {
  const { file, contexts } = known[0];
  const policy = new Policy(file);
  const bad = (change) => () => policy.probabilities({ ...contexts[0], ...change });
  assert.throws(bad({ agee: 1 }), /no column agee/);
  assert.throws(bad({ age: undefined }), /age is not given/);
  for (const secret of ["twelve", "0x10", "Infinity"]) {
    assert.throws(bad({ age: secret }), (error) => !error.message.includes(secret));
  }
  assert.throws(bad({ when: "2013-02-29" }), /date/);
  assert.throws(() => new Policy({ ...file, version: 5 }), /later version/);
  assert.throws(() => new Policy({ ...file, policy: undefined }), /not the file of a policy/);
});

test("draws follow the probabilities", () => {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 20_000; i++) counts[draw([0.5, 0, 0.3, 0.2])] += 1;
  // 6 deviations: a false alarm in 10^8 runs.
  [0.5, 0, 0.3, 0.2].forEach((p, arm) => {
    const sd = Math.sqrt(20_000 * p * (1 - p));
    assert.ok(Math.abs(counts[arm] - 20_000 * p) <= 6 * sd, String(counts));
  });
});

test("requests: what may be sent again is", async () => {
  const seen = [];
  const answers = [];
  const own = async (url, init) => {
    seen.push([init.method, url, init.body]);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return new Response(next.body ?? null, { status: next.status, headers: next.headers ?? {} });
  };
  const hush = new Hushstream("http://h/", "hs_1_x", own);
  const busy = { status: 503, headers: { "retry-after": "0" }, body: "{}" };
  const told = { event_id: "e", action: "red", probability: 1, ranking: [] };
  answers.push(busy, new TypeError("no connection"), { status: 200, body: JSON.stringify(told) });
  assert.equal((await hush.decide("m", { a: NaN, b: 1 })).action, "red");
  assert.equal(seen.length, 3);
  assert.equal(new Set(seen.map(String)).size, 1, "the same request, with the same id");
  assert.deepEqual(JSON.parse(seen[0][2]).context, { a: null, b: 1 });
  answers.push(new TypeError("no connection"), { status: 204 });
  await hush.reward("m", "e/1", 1);
  assert.equal(seen.length, 5);
  assert.equal(seen[3][1], "http://h/v1/models/m/decisions/e%2F1/reward");
  assert.deepEqual(seen[3], seen[4], "the same reward, with the same id");
  const gone = { detail: "its batch is closed", place: "value" };
  answers.push({ status: 410, body: JSON.stringify(gone) });
  await assert.rejects(hush.reward("m", "e", 1), (error) => {
    return error instanceof Refusal && error.status === 410 && error.place === "value";
  });
  await assert.rejects(hush.decide("m", { a: Infinity }), /not finite/);
});

const { HUSHSTREAM_URL: url, HUSHSTREAM_TOKEN: token } = process.env;

test("on a server: the same probabilities, decisions here and there", { skip: !url }, async (t) => {
  const hush = new Hushstream(url, token);
  assert.equal((await hush.whoami()).role, "client");
  const model = (await hush.models())[0].model;
  const events = hush.events(model);
  t.after(() => events.return());
  assert.equal((await events.next()).value.event, "state");
  const edge = await hush.edge(model);
  const seen = new Set();
  for (let i = 0; seen.size < 3; i++) {
    assert.ok(i < 400, "no release came");
    const context = { age: (17 * i) % 101, device: ["phone", "desk", null][i % 3] };
    const there = await hush.decide(model, context);
    seen.add(there.policy);
    const policy = await hush.policy(model, there.policy);
    const here = policy.probabilities(context);
    for (const { action, probability } of there.ranking) {
      const own = here[policy.actions.indexOf(action)];
      assert.ok(Math.abs(own - probability) <= 1e-12, `${own} ${probability}`);
    }
    const only = await hush.decide(model, context, { exclude: ["red"] });
    const among = policy.probabilities(context, policy.actions.filter((name) => name !== "red"));
    assert.equal(only.policy === there.policy ? among[policy.actions.indexOf(only.action)] : 1, 1);
    await hush.reward(model, there.event_id, there.action === "red" ? 1 : 0);
    const decision = await edge.decide(context);
    assert.ok(policy.actions.includes(decision.action) && decision.probability > 0);
    await decision.tell(decision.action === "red" ? 1 : 0);
    if (i % 5 === 4) await new Promise((done) => setTimeout(done, 300));
  }
  const kinds = new Set();
  for await (const { event } of events) {
    kinds.add(event);
    if (kinds.has("closed") && kinds.has("released")) break;
  }
  const known = await hush.policy(model);
  assert.ok(known.version >= Math.max(...seen));
  await assert.rejects(hush.model("none"), (error) => error.status === 404);
  await assert.rejects(
    hush.decide(model, { age: "secret", device: null }),
    (error) => error.status === 422 && !error.message.includes("secret"),
  );
});
