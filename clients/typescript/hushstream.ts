/**
 * A client of `hushstream serve` in one file: copy it. It needs `fetch` and `crypto`, which
 * browsers, Node, Deno and workers have, and nothing else.
 *
 *     const hush = new Hushstream("https://hush.example", token);
 *     const decision = await hush.decide("banner", { age: 31, device: "phone" });
 *     await hush.reward("banner", decision.event_id, 1);
 *
 * Or decide here, from the published policy, and send the context only with its outcome:
 *
 *     const edge = await hush.edge("banner");
 *     const decision = await edge.decide({ age: 31, device: "phone" });
 *     await decision.tell(1);
 */

/** A value of a context: null or NaN is missing. */
export type Value = number | string | boolean | null;
/** A context: a value for every column of the model. */
export type Context = Readonly<Record<string, Value>>;
/** What anything may be told in JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The answer to one person's question: for that person and nobody else. */
export interface Decision {
  event_id: string;
  action: string;
  probability: number;
  ranking: { action: string; probability: number }[];
  policy: number;
  learning: boolean;
  closes_by: string | null;
}

/** A place for a decision that is made elsewhere, with this version of the policy. */
export interface Slot {
  event_id: string;
  policy: number;
  /** False once all batches are given out: there is no slot then. */
  learning?: boolean;
  closes_by: string | null;
}

/** What may be stated beside a context. */
export interface Wishes {
  /** Random, never computed from contents; made here if not stated. */
  event_id?: string;
  /** Only among these. */
  actions?: string[];
  /** Not these. */
  exclude?: string[];
  /** Where the model limits persons. */
  person?: string;
  /** Counts only once it is activated. */
  defer?: boolean;
}

/** The state of a model; all of it is public. */
export interface Model {
  model: string;
  dataset: string;
  task: string;
  status: "learning" | "paused" | "finished" | "failed";
  batch: number;
  batches: number;
  slots: number;
  open_batch: number;
  closed_batches: number;
  released: number;
  policy: number;
  simulated: boolean;
  settings?: { [key: string]: Json };
  [key: string]: unknown;
}

/** Something that happened to a model. */
export interface Event {
  event: "state" | "slots" | "closed" | "released" | "finished";
  data: { [key: string]: Json };
}

/** A refusal: what was wrong, and where. */
export class Refusal extends Error {
  readonly status: number;
  readonly place: string | null;

  constructor(status: number, detail: string, place: string | null) {
    super(place ? `${detail} (${place})` : detail);
    this.name = "Refusal";
    this.status = status;
    this.place = place;
  }
}

export class Hushstream {
  readonly #url: string;
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #policies = new Map<string, { etag: string | null; policy: Policy }>();

  constructor(url: string, token: string, own: typeof fetch = fetch) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#fetch = (input, init) => own(input, init);
  }

  whoami(): Promise<{ tenant: string | null; role: string; token: string }> {
    return this.#json("GET", "/v1/whoami");
  }

  async models(): Promise<Model[]> {
    return (await this.#json<{ models: Model[] }>("GET", "/v1/models")).models;
  }

  model(name: string): Promise<Model> {
    return this.#json("GET", path(name));
  }

  /** Asks for a decision. It can be asked again with the same `event_id`, and is then the same. */
  async decide(model: string, context: Context, wishes: Wishes = {}): Promise<Decision> {
    const body = { event_id: crypto.randomUUID(), ...wishes, context: plain(context) };
    return this.#json("POST", `${path(model)}/decisions`, body, true);
  }

  /**
   * Tells what a decision earned; refused with 410 once its batch is closed. A reward that is told
   * again with its id counts once; without one it gets a random one.
   */
  async reward(model: string, event: string, value: number, id?: string): Promise<void> {
    const body = { value, reward_id: id ?? crypto.randomUUID() };
    await this.#send("POST", `${path(model)}/decisions/${encoded(event)}/reward`, body, true);
  }

  /** Makes a deferred decision count. */
  async activate(model: string, event: string): Promise<void> {
    await this.#send("POST", `${path(model)}/decisions/${encoded(event)}/activate`);
  }

  /** Takes a slot for a decision that is made elsewhere, before its outcome is known. */
  slot(model: string): Promise<Slot> {
    const body = { event_id: crypto.randomUUID() };
    return this.#json("POST", `${path(model)}/slots`, body, true);
  }

  /** Fills a slot. */
  async fill(
    model: string,
    event: string,
    outcome: { policy: number; context: Context; action: string; value?: number; person?: string },
  ): Promise<void> {
    const body = { ...outcome, context: plain(outcome.context) };
    await this.#send("PUT", `${path(model)}/slots/${encoded(event)}`, body);
  }

  /** Brings records of a model that predicts. */
  async records(
    model: string,
    rows: { features: Context; target?: Value; event_id?: string; person?: string }[],
  ): Promise<{ taken: number; repeated: number; null_lines: Json[] }> {
    const line = (row: (typeof rows)[number]) =>
      JSON.stringify({ event_id: crypto.randomUUID(), ...row, features: plain(row.features) });
    return this.#json("POST", `${path(model)}/records`, rows.map(line).join("\n") + "\n", true);
  }

  /** Brings the target of a record that had none. */
  async target(model: string, event: string, value: Value): Promise<void> {
    await this.#send("PUT", `${path(model)}/records/${encoded(event)}/target`, { value });
  }

  /** Predicts with the published model. */
  async predict(model: string, rows: Context[]): Promise<{ [key: string]: Json }[]> {
    const body = { rows: rows.map(plain) };
    type Told = { predictions: { [key: string]: Json }[] };
    const told = await this.#json<Told>("POST", `${path(model)}/predict`, body, true);
    return told.predictions;
  }

  /** What policies earn, estimated privately; refused with 404 if none was planned or released. */
  evaluation(model: string): Promise<{ version: number; evaluation: Json[] }> {
    return this.#json("GET", `${path(model)}/evaluation`);
  }

  /** The policy that decides now, or another version. The server is asked whether it is new. */
  async policy(model: string, version?: number): Promise<Policy> {
    const query = version === undefined ? "" : `?version=${version}`;
    const key = model + query;
    const known = this.#policies.get(key);
    const headers: Record<string, string> = known?.etag ? { "if-none-match": known.etag } : {};
    const where = `${path(model)}/policy${query}`;
    const answer = await this.#send("GET", where, undefined, true, headers);
    if (answer.status === 304 && known) return known.policy;
    const policy = new Policy((await answer.json()) as PolicyFile);
    this.#policies.set(key, { etag: answer.headers.get("etag"), policy });
    return policy;
  }

  /** Decides here, from the published policy. */
  async edge(model: string): Promise<Edge> {
    const told = await this.model(model);
    return new Edge(this, model, told.settings?.["mode"] === "shadow");
  }

  /** Everything that happens to a model, from now on; break out of the loop to stop. */
  async *events(model: string): AsyncGenerator<Event> {
    const where = `${path(model)}/events`;
    const accept = { accept: "text/event-stream" };
    const answer = await this.#send("GET", where, undefined, false, accept);
    if (!answer.body) return;
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += decoder.decode(value, { stream: true }).replaceAll("\r", "");
        const parts = text.split("\n\n");
        text = parts.pop() ?? "";
        for (const part of parts) {
          const field = (name: string) =>
            part
              .split("\n")
              .filter((line) => line.startsWith(`${name}:`))
              .map((line) => line.slice(name.length + 1).trim())
              .join("\n");
          const data = field("data");
          if (data) yield { event: field("event") as Event["event"], data: JSON.parse(data) };
        }
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  async #json<T>(method: string, where: string, body?: unknown, again = false): Promise<T> {
    const answer = await this.#send(method, where, body, again || method === "GET");
    return (await answer.json()) as T;
  }

  /** Sends; what may be sent again is, where the server is busy or was not reached. */
  async #send(
    method: string,
    where: string,
    body?: unknown,
    again = false,
    more: Record<string, string> = {},
  ): Promise<Response> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, ...more };
    const init: RequestInit = { method, headers };
    if (typeof body === "string") {
      headers["content-type"] = "application/x-ndjson";
      init.body = body;
    } else if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    for (let left = again ? 3 : 0; ; left--) {
      let answer: Response;
      try {
        answer = await this.#fetch(this.#url + where, init);
      } catch (error) {
        if (left === 0) throw error;
        await pause(0.2);
        continue;
      }
      if (answer.ok || answer.status === 304) return answer;
      if (left > 0 && (answer.status === 503 || answer.status === 429)) {
        await pause(Number(answer.headers.get("retry-after")) || 0.5);
        continue;
      }
      const told = (await answer.json().catch(() => ({}))) as { detail?: string; place?: string };
      const detail = told.detail ?? answer.statusText;
      throw new Refusal(answer.status, detail, told.place ?? null);
    }
  }
}

/** Decisions made here. Every one takes a slot when it is made, whatever comes of it. */
export class Edge {
  readonly #client: Hushstream;
  readonly #model: string;
  readonly #answersFirst: boolean;

  constructor(client: Hushstream, model: string, answersFirst: boolean) {
    this.#client = client;
    this.#model = model;
    this.#answersFirst = answersFirst;
  }

  /** Decides. The server learns that a decision was made, and nothing about it until it is told. */
  async decide(context: Context, person?: string): Promise<EdgeDecision> {
    const slot = await this.#client.slot(this.#model);
    const policy = await this.#client.policy(this.#model, slot.policy);
    const probabilities = policy.probabilities(context);
    const arm = this.#answersFirst ? 0 : draw(probabilities);
    const action = policy.actions[arm] as string;
    const tell = async (value?: number) => {
      if (slot.learning === false) return;
      await this.#client.fill(this.#model, slot.event_id, {
        policy: slot.policy,
        context,
        action,
        ...(value === undefined ? {} : { value }),
        ...(person === undefined ? {} : { person }),
      });
    };
    const probability = this.#answersFirst ? 1 : (probabilities[arm] as number);
    return { event_id: slot.event_id, action, probability, closes_by: slot.closes_by, tell };
  }
}

/** A decision that was made here. */
export interface EdgeDecision {
  event_id: string;
  action: string;
  probability: number;
  closes_by: string | null;
  /** Tells context, action and reward, before `closes_by`; without a reward the default counts. */
  tell(value?: number): Promise<void>;
}

/** An action by its probability. */
export function draw(probabilities: readonly number[]): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  const uniform = (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
  const last = probabilities.findLastIndex((p) => p > 0);
  let sum = 0;
  for (let arm = 0; arm < last; arm++) {
    sum += probabilities[arm] as number;
    if (sum > uniform) return arm;
  }
  return Math.max(last, 0);
}

/* The policy. */

type Encoding =
  | { number: { low: number; high: number } }
  | { category: { values: string[] } }
  | { indicator: { group: number } }
  | { hashed: { bits: number } }
  | "date";

type Axis =
  | { number: { knots: number; log?: { knots: number; origin: number } } }
  | { category: { values: number } };

type ContextMap =
  | { linear: { columns: ("number" | { category: number })[]; length: number } }
  | { curves: { axes: Axis[]; share: number } };

type Rule =
  | { "inverse-gap": number }
  | { optimistic: { width: number; shapes: number[] } }
  | { always: number }
  | "uniform";

/** The published file of a policy: docs/model-file.md. */
export interface PolicyFile {
  format: string;
  version: number;
  release: number;
  weights: number[];
  layout: {
    space: { columns: { name: string; encoding: Encoding }[] };
    missing?: string[];
    decides?: { arms: string[] };
  };
  policy?: { map: ContextMap; rule: Rule };
  guarantee: { epsilon: number; delta: number; simulated: boolean; [key: string]: unknown };
}

/** A published policy: contexts to probabilities, the same as the server's. */
export class Policy {
  /** The actions, in the order of their probabilities. */
  readonly actions: readonly string[];
  /** Its version. */
  readonly version: number;
  readonly #file: PolicyFile;
  readonly #map: ContextMap;
  readonly #rule: Rule;
  readonly #columns: ReadColumn[];
  readonly #width: number;

  constructor(file: PolicyFile) {
    if (file.format !== "hushstream model" || !file.policy || !file.layout.decides) {
      throw new Error("this is not the file of a policy");
    }
    if (file.version > 4) throw new Error("a later version of Hushstream wrote this policy");
    this.actions = file.layout.decides.arms;
    this.version = file.release;
    this.#file = file;
    this.#map = file.policy.map;
    this.#rule = file.policy.rule;
    [this.#columns, this.#width] = columns(file);
  }

  /** The probabilities of the actions for a context, perhaps only among some of them. */
  probabilities(context: Context, among?: readonly string[]): number[] {
    const features = this.#features(context);
    const all = this.actions.map((_, arm) => arm);
    const some = among ? all.filter((arm) => among.includes(this.actions[arm] as string)) : all;
    const arms = some.length > 0 ? some : all;
    const own = this.#weighed(arms, features);
    const probabilities = all.map(() => 0);
    arms.forEach((arm, place) => (probabilities[arm] = own[place] as number));
    return probabilities;
  }

  /** One number for each axis: NaN is missing. */
  #features(context: Context): [number, number][] {
    const codes = new Array<number>(this.#width).fill(NaN);
    const known = new Set(this.#columns.map((column) => column.name));
    for (const name of Object.keys(context)) {
      if (!known.has(name)) throw new Error(`the policy has no column ${name}`);
    }
    for (const column of this.#columns) {
      const value = context[column.name];
      if (value === undefined) {
        throw new Error(`the column ${column.name} is not given; a missing value is null`);
      }
      if (value !== null && !Number.isNaN(value)) column.read(value, codes);
    }
    return "linear" in this.#map
      ? linear(this.#map.linear, codes)
      : curves(this.#map.curves, codes);
  }

  #estimate(arm: number, features: [number, number][]): number {
    const weights = this.#file.weights;
    const width = weights.length / this.actions.length;
    let dot = 0;
    for (const [place, value] of features) dot += (weights[arm * width + place] as number) * value;
    return Math.min(1, Math.max(0, 0.5 + dot));
  }

  #spread(shapes: number[], arm: number, features: [number, number][]): number {
    const width = this.#file.weights.length / this.actions.length;
    const first = (arm * width * (width + 1)) / 2;
    let sum = 0;
    for (const [i, a] of features) {
      for (const [j, b] of features) {
        const [high, low] = [Math.max(i, j), Math.min(i, j)];
        sum += a * b * (shapes[first + (high * (high + 1)) / 2 + low] as number);
      }
    }
    return Math.sqrt(Math.max(0, sum));
  }

  #weighed(arms: number[], features: [number, number][]): number[] {
    const rule = this.#rule;
    const only = (place: number) => arms.map((_, own) => (own === place ? 1 : 0));
    if (rule === "uniform") return arms.map(() => 1 / arms.length);
    if ("always" in rule) return only(Math.max(0, arms.indexOf(rule.always)));
    if ("optimistic" in rule) {
      const { width, shapes } = rule.optimistic;
      const bound = (arm: number) =>
        this.#estimate(arm, features) + width * this.#spread(shapes, arm, features);
      return only(best(arms.map(bound)));
    }
    const gamma = rule["inverse-gap"];
    const values = arms.map((arm) => this.#estimate(arm, features));
    const top = best(values);
    const most = values[top] as number;
    let rest = 1;
    const chances = values.map((value, place) => {
      const chance = 1 / (values.length + gamma * (most - value));
      if (place !== top) rest -= chance;
      return chance;
    });
    chances[top] = rest;
    return chances;
  }
}

function best(values: number[]): number {
  return values.reduce((top, value, place) => (value > (values[top] as number) ? place : top), 0);
}

/** A column, ready to read values into the codes of its axes. */
interface ReadColumn {
  name: string;
  read(value: number | string | boolean, codes: number[]): void;
}

/** The columns, and the number of axes. */
function columns(file: PolicyFile): [ReadColumn[], number] {
  const missing = new Missing(file.layout.missing ?? []);
  const groups = new Map<number, { slot: number; members: number }>();
  let end = 0;
  const all = file.layout.space.columns.map(({ name, encoding }): ReadColumn => {
    if (encoding === "date") {
      const slot = end;
      end += 3;
      return { name, read: (value, codes) => readDate(text(value), codes, slot, missing) };
    }
    if ("indicator" in encoding) {
      const { group } = encoding.indicator;
      const own = groups.get(group) ?? { slot: end, members: 0 };
      if (!groups.has(group)) end += 1;
      groups.set(group, own);
      const place = own.members++;
      const read = (value: number | string | boolean, codes: number[]) => {
        const found = number(value, missing, name);
        if (found !== null && found > 0.5) codes[own.slot] = place;
      };
      return { name, read };
    }
    const slot = end++;
    if ("number" in encoding) {
      const { low, high } = encoding.number;
      const sum = low + high;
      const shift = Number.isFinite(sum) ? sum / 2 : low / 2 + high / 2;
      const factor = 2 / (high - low);
      const read = (value: number | string | boolean, codes: number[]) => {
        const found = number(value, missing, name);
        if (found === null) return;
        const scaled = (found - shift) * factor;
        codes[slot] = Math.min(1, Math.max(-1, scaled));
      };
      return { name, read };
    }
    if ("hashed" in encoding) {
      const mask = 2 ** encoding.hashed.bits - 1;
      const read = (value: number | string | boolean, codes: number[]) => {
        const field = text(value);
        if (field !== "" && !missing.isStated(field)) codes[slot] = (murmur3(field) & mask) >>> 0;
      };
      return { name, read };
    }
    if (!("category" in encoding)) throw new Error(`the column ${name} cannot be read here`);
    const values = encoding.category.values.map(trimmed);
    const read = (value: number | string | boolean, codes: number[]) => {
      const field = text(value);
      let place = values.indexOf(field);
      const own = place < 0 ? asNumber(field) : null;
      if (own !== null) place = values.findIndex((text) => asNumber(text) === own);
      if (place >= 0) codes[slot] = place;
    };
    return { name, read };
  });
  return [all, end];
}

function trimmed(text: string): string {
  return text.replace(/^[ \t\n\f\r]+|[ \t\n\f\r]+$/g, "");
}

/** A value as the field of a table. */
function text(value: number | string | boolean): string {
  if (typeof value === "string") {
    if (value.includes("\0")) throw new Error("a text holds a NUL character");
    return trimmed(value);
  }
  return typeof value === "boolean" ? String(value) : written(value);
}

/** A number in plain decimals, without an exponent. */
function written(value: number): string {
  const found = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value));
  if (!found) return Object.is(value, -0) ? "-0" : String(value);
  const [, sign = "", first = "", rest = "", power] = found;
  const [digits, exponent] = [first + rest, Number(power)];
  return exponent < 0
    ? `${sign}0.${"0".repeat(-exponent - 1)}${digits}`
    : `${sign}${digits.padEnd(exponent + 1, "0")}`;
}

function parsed(field: string): number | null {
  if (field === "" || !/^[0-9+\-.eE]+$/.test(field)) return null;
  const value = Number(field);
  return Number.isNaN(value) ? null : value;
}

/** The number that a text names; codes such as 007 name none. */
function asNumber(field: string): number | null {
  if (/^[-+]?0[0-9]/.test(field)) return null;
  const value = parsed(field);
  return value !== null && Math.abs(value) < 2 ** 53 ? value + 0 : null;
}

class Missing {
  readonly #stated: string[];

  constructor(stated: string[]) {
    this.#stated = stated.map(trimmed);
  }

  isStated(field: string): boolean {
    const own = asNumber(field);
    return this.#stated.some((text) => text === field || (own !== null && asNumber(text) === own));
  }

  is(field: string): boolean {
    return ["", "na", "n/a", "nan", "null"].includes(field.toLowerCase()) || this.isStated(field);
  }
}

/** A number, or null if it is missing. */
function number(value: number | string | boolean, missing: Missing, name: string): number | null {
  const field = text(value);
  if (missing.isStated(field)) return null;
  const found = typeof value === "number" ? value : parsed(field);
  if (found !== null) {
    if (Number.isFinite(found)) return found;
    throw new Error(`the value of ${name} is not finite`);
  }
  if (missing.is(field)) return null;
  if (field.toLowerCase() === "true") return 1;
  if (field.toLowerCase() === "false") return 0;
  throw new Error(`the value of ${name} is not a number`);
}

/** Month, day of the week, and the hour if there is a time of day. */
function readDate(field: string, codes: number[], slot: number, missing: Missing): void {
  if (missing.is(field)) return;
  const found = /^(\d{4})([-/])(\d\d)\2(\d\d)(?:[T ](\d\d):(\d\d).*)?$/s.exec(field);
  const part = (place: number) => Number(found?.[place] ?? NaN);
  const [year, month, day, hour, minute] = [part(1), part(3), part(4), part(5), part(6)];
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= days;
  if (!found || !isDate || hour > 23 || minute > 59) throw new Error("a date cannot be read");
  codes[slot] = month - 1;
  // A year of four digits below 100 would become 19xx.
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  codes[slot + 1] = (date.getUTCDay() + 6) % 7;
  if (!Number.isNaN(hour)) codes[slot + 2] = hour;
}

/** MurmurHash3 (32 bits, seed 0) of the UTF-8 of a text. */
function murmur3(words: string): number {
  const bytes = new TextEncoder().encode(words);
  const scramble = (block: number) => {
    const mixed = Math.imul(block, 0xcc9e2d51);
    return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
  };
  let hash = 0;
  const whole = bytes.length - (bytes.length % 4);
  const at = (place: number) => bytes[place] ?? 0;
  const block = (i: number) => at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24);
  for (let i = 0; i < whole; i += 4) {
    hash ^= scramble(block(i));
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash ^= scramble(block(whole));
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Numbers and indicators, scaled down to a length if they are longer; then 1. */
function linear(
  map: { columns: ("number" | { category: number })[]; length: number },
  codes: number[],
): [number, number][] {
  const found: [number, number][] = [];
  let [slot, squares] = [0, 0];
  map.columns.forEach((column, place) => {
    const code = codes[place] as number;
    if (column === "number") {
      if (Number.isFinite(code)) {
        squares += code * code;
        found.push([slot, code]);
      }
      slot += 1;
    } else {
      if (code >= 0 && code < column.category) {
        squares += 1;
        found.push([slot + Math.trunc(code), 1]);
      }
      slot += column.category;
    }
  });
  if (squares > map.length * map.length) {
    const shrink = map.length / Math.sqrt(squares);
    for (const entry of found) entry[1] *= shrink;
  }
  found.push([slot, 1]);
  return found;
}

/** The hats of curves, of one length together. */
function curves(map: { axes: Axis[]; share: number }, codes: number[]): [number, number][] {
  const hats: [number, number, number][] = [];
  const tails: [number, number, number][] = [];
  let first = 0;
  // The two hats around a place among knots.
  const around = (from: number, knots: number, place: number): [number, number, number] => {
    const knot = Math.min(Math.max(Math.trunc(place), 0), knots - 2);
    const high = Math.min(1, Math.max(0, place - knot));
    return [from + knot, 1 - high, high];
  };
  map.axes.forEach((axis, place) => {
    const code = codes[place] as number;
    if ("category" in axis) {
      const { values } = axis.category;
      const own = code >= 0 && code < values ? Math.trunc(code) : values;
      hats.push(around(first, values + 1, own));
      first += values + 1;
      return;
    }
    const { knots, log } = axis.number;
    const half = (knots - 1) * 0.5;
    if (Number.isNaN(code)) hats.push([first + knots - 1, 0, 1]);
    else hats.push(around(first, knots, code * half + half));
    if (log) {
      const low = scaled(-1, log.origin);
      const span = (1 / (scaled(1, log.origin) - low)) * (log.knots - 1);
      const from = first + knots + 1;
      if (Number.isNaN(code)) tails.push([from, 0, 0]);
      else tails.push(around(from, log.knots, (scaled(code, log.origin) - low) * span));
    }
    first += knots + 1 + (log?.knots ?? 0);
  });
  const all = [...hats, ...tails];
  const scale = Math.sqrt((1 - map.share) / squaredLength(all.flatMap(([, a, b]) => [a, b])));
  return all
    .flatMap(([left, a, b]): [number, number][] => [
      [left, a * scale],
      [left + 1, b * scale],
    ])
    .filter(([, hat]) => hat > 0)
    .sort((a, b) => a[0] - b[0]);
}

/** In four lanes, as the engine adds. */
function squaredLength(values: number[]): number {
  const lanes = [0, 0, 0, 0] as [number, number, number, number];
  const whole = values.length - (values.length % 4);
  for (let i = 0; i < whole; i++) lanes[(i % 4) as 0] += (values[i] as number) ** 2;
  let rest = 0;
  for (const value of values.slice(whole)) rest += value * value;
  return lanes[0] + lanes[1] + (lanes[2] + lanes[3]) + rest;
}

/** Linear near the origin, logarithmic beyond, with straight lines between powers of two. */
function scaled(value: number, origin: number): number {
  const distance = (value - origin) * 500;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, 1 + Math.abs(distance));
  const logarithm = Number(view.getBigUint64(0) - 0x3ff0000000000000n) / 2 ** 52;
  return distance < 0 ? -logarithm : logarithm;
}

/* Requests. */

function path(model: string): string {
  return `/v1/models/${encoded(model)}`;
}

function encoded(part: string): string {
  return encodeURIComponent(part);
}

/** JSON has no NaN: it is missing. */
function plain(context: Context): { [key: string]: Json } {
  const entries = Object.entries(context).map(([name, value]) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      if (Number.isNaN(value)) return [name, null];
      throw new Error(`the value of ${name} is not finite`);
    }
    return [name, value];
  });
  return Object.fromEntries(entries) as { [key: string]: Json };
}

function pause(seconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, 1000 * seconds));
}
