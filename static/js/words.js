// @ts-check
/**
 * Every string that a script shows, in one place. A page may hand over translations as JSON in
 * <script type="application/json" id="words">; what it leaves out stays English.
 */
/** @type {Record<string, string>} */
const english = {
  auto: "Auto", light: "Light", dark: "Dark",
  copied: "Copied", notCopied: "The browser did not let us copy. Select the text instead.",
  table: "Table", chart: "Chart", linear: "Linear", log: "Log", time: "Time", n: "n",
  arrowKeys: "Arrow keys move the cursor, with shift by ten.",
  at: "{time}: {values}", value: "{label} {value}", tooSmall: "n too small",
  noData: "no data", warmUp: "warm-up", nothingYet: "Nothing measured yet", nothing: "Nothing measured",
  meets: "meets", misses: "misses", unsure: "not sure yet", noObjective: "no objective",
  notJudged: "not judged",
  interval: "interval", target: "target", effective: "{n}, eff. {m}", range: "{low} – {high} {unit}",
  intervalOf: "95 % interval {low} to {high} {unit}", perCent: "{v} %",
  live: "Live", connecting: "Connecting", retrying: "Reconnecting in {s} s", stale: "Stale",
  paused: "Paused", hidden: "Paused while hidden", ended: "Final", age: "data {age} old",
  of: "{elapsed} of {duration}", left: "{left} left", over: "draining", secondsShort: "{n} s",
  minutesShort: "{n} min", hoursShort: "{n} h", daysShort: "{n} d",
  pause: "Pause", resume: "Resume",
  cut: "cut", grow: "growth", undo: "undo", hold: "held", policy: "policy", shadow: "shadow", engine: "engine",
  limitTo: "{before} → {after}", decisionAt: "{time} {reason}: {before} → {after}", events: "Events",
  cutCount: "{n} cuts", cutCountOne: "1 cut", growCount: "{n} growths", growCountOne: "1 growth",
  undoCount: "{n} undone", undoCountOne: "1 undone",
  traceSummary: "{parts}; the limit stood between {low} and {high}.",
  traceHeld: "Latest: {reason}, the limit stays at {after}.", traceMoved: "Latest: {reason}, the limit goes from {before} to {after}.",
  traceQuiet: "The limit has not moved; it stands at {limit}.",
  traceNone: "No decision yet.", traceNoneEnded: "No decision was made.", traceMore: "Those that changed something: {shown} of {all} decisions; the file has them all.",
  noFailures: "Every resolved request was answered.", noTenants: "Nobody was served yet.", noTenantsEnded: "Nobody was served.", nothingMeasured: "Nothing was measured.",
  shortcuts: "Keyboard shortcuts", off: "Single keys are off.", close: "Close",
  keyHelp: "Show this list", keyPause: "Pause or resume live updates", keyLog: "Linear or log latency scale",
  keyTable: "Tables or charts", keyTheme: "Change the theme",
  previewing: "Drawing the load …", previewFailed: "The preview could not be drawn: {why}",
  previewFix: "Correct the fields marked in red, and the load is drawn here.",
  previewSentence: "{requests} requests in {minutes}: {prompt} prompt tokens, and {output} output tokens if none is cut short.",
  previewClosed: "A closed loop: {slots} slots, each sending its next request when the last is answered. How many that makes, the engine decides.",
  promptTotal: "Prompt tokens", outputTotal: "Output tokens", duration: "Duration",
  lengths: "Mean {mean}, longest {longest}.", lengthsSampled: "Mean {mean}, longest {longest} of the requests looked at.",
  rateSaid: "Mean {mean}, at most {most}, counted in steps of {step} s.",
  rate: "Rate", requestsPerSecond: "requests per second", scheduled: "Scheduled", bucket: "Tokens", andMore: "{low} and more",
  promptTokens: "Prompt length", outputTokens: "Output length", requests: "Requests", tokens: "tokens",
  up: "up", down: "down", noAnswer: "no answer", lateWaiting: "{n} waiting past their objective", lateQuiet: "{n} waiting past their objective, no byte for {s}", unheard: "not heard of", noLanes: "No lane has been reported yet.",
  shadowed: "shadow", noDecisions: "No decision in the time shown: a fixed limit makes none.",
  noTraffic: "Nobody asked in the last minutes.", perSecond: "{v} /s", inBlock: "{arm}, block {block}",
  gapOfBlocks: "gap of the candidate over the baseline", points: "points", block: "Block",
  passUnder: "pass under {v}", harmAbove: "harm above {v}", meanGap: "mean", blockGap: "this block",
  gapSoFar: "After {k} of {of} blocks the mean gap is {m} points: too few to say how far off that may be.",
  gapSaid: "After {k} of {of} blocks the mean gap is {m} points; as far as one can tell it lies from {low} to {high}.",
  noBlocks: "No block has ended yet.",
  candidate: "Candidate", baseline: "Baseline", attainment: "Attainment", offered: "Offered", pt: "pt",
  ofOffered: "% of offered", aLaneEqual: "req/s a lane, must be equal", pointsOfOffered: "points of offered",
  noPassBefore: "no pass before k = {k}", noArms: "Nothing of both arms at once yet.",
  lowerP99: "The candidate's P99 is lower in {lower} of {of} windows.", lowerRows: "The candidate's is lower in {lower} of {of} windows.",
  countedBlocks: "k = {k} blocks, {candidate} requests of the candidate, {baseline} of the baseline.",
  statusChanged: "{word}, {state}. {because}",
  run: "Run", seed: "Seed", load: "Load", overTime: "over time", by: "by {along}",
};

/** @returns {Record<string, string>} */
function translated() {
  const element = document.getElementById("words");
  return element ? JSON.parse(element.textContent ?? "{}") : {};
}
const words = { ...english, ...translated() };

/**
 * The words under a key, with {names} filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function say(key, values = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
