/** A strict reader of OpenMetrics 1.0 and of Prometheus's text format, for tests. */

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly exemplar?: { readonly labels: Readonly<Record<string, string>>; readonly value: number; readonly at: number };
}

export interface ReadFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string | undefined;
  readonly samples: readonly ReadSample[];
}

/** Suffixes of the samples of each type. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count', '_created'],
};

/** @throws Error for what OpenMetrics does not allow */
export function readOpenMetrics(text: string): ReadFamily[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error('the last line has no end');
  if (lines.pop() !== '# EOF') throw new Error('the last line is not "# EOF"');
  const families: (ReadFamily & { samples: ReadSample[] })[] = [];
  const names = new Set<string>();
  let next: { name: string; type: string; help: string; unit: string | undefined; samples: ReadSample[] } | undefined;
  for (const line of lines) {
    const [, kind, name, rest] = /^# (TYPE|UNIT|HELP) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === 'TYPE') {
      if (names.has(name!)) throw new Error(`the family ${name} comes twice`);
      names.add(name!);
      next = { name: name!, type: rest!, help: '', unit: undefined, samples: [] };
      families.push(next);
    } else if (kind !== undefined) {
      if (next?.name !== name || next?.samples.length !== 0) throw new Error(`out of place: ${line}`);
      if (kind === 'HELP') next.help = unescaped(rest!);
      else next.unit = rest;
      if (kind === 'UNIT' && !name!.endsWith(`_${rest}`)) throw new Error(`the name ${name} does not end with its unit`);
    } else {
      if (next === undefined) throw new Error(`a sample without a family: ${line}`);
      const sample = readSample(line);
      const suffix = sample.name.slice(next.name.length);
      if (!sample.name.startsWith(next.name) || SUFFIXES[next.type]?.includes(suffix) !== true)
        throw new Error(`a sample of another family than ${next.type} ${next.name}: ${line}`);
      next.samples.push(sample);
    }
  }
  for (const family of families) checkFamily(family);
  return families;
}

/** Samples of the text format 0.0.4. */
export function readText(text: string): ReadSample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(readSample);
}

function readSample(line: string): ReadSample {
  const [whole = '', own, text, at] = / # \{(trace_id="[^"]*",span_id="[^"]*")\} ([\d.e-]+) ([\d.]+)$/.exec(line) ?? [];
  const exemplar = text === undefined ? undefined : { labels: readLabels(own!, line), value: Number(text), at: Number(at) };
  const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s.exec(line.slice(0, line.length - whole.length)) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const number = value === '+Inf' ? Infinity : value === 'NaN' ? NaN : Number(value);
  if (Number.isNaN(number) && value !== 'NaN') throw new Error(`not a number: ${line}`);
  return { name, labels: readLabels(labels, line), value: number, ...(exemplar && { exemplar }) };
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const [whole, name, value] = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=.)|$)/s.exec(rest) ?? [];
    if (whole === undefined || Object.hasOwn(labels, name!)) throw new Error(`malformed labels: ${line}`);
    labels[name!] = unescaped(value!);
    rest = rest.slice(whole.length);
  }
  return labels;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
}

/** Samples of one set of labels are side by side and not repeated; buckets grow up to the count. */
function checkFamily({ name, type, help, samples }: ReadFamily): void {
  if (help === '') throw new Error(`${name} has no help`);
  const seen = new Set<string>();
  const ended = new Set<string>();
  let last = '';
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const place = JSON.stringify(labels);
    if (place !== last) {
      if (ended.has(place)) throw new Error(`${name}${place} is not in one piece`);
      ended.add(last);
      last = place;
    }
    const whole = sample.name + JSON.stringify(sample.labels);
    if (seen.has(whole)) throw new Error(`${whole} comes twice`);
    seen.add(whole);
    if (type !== 'gauge' && !(sample.value >= 0)) throw new Error(`${whole} is ${sample.value}`);
  }
  if (type === 'histogram') for (const group of Map.groupBy(samples, placeOf).values()) checkHistogram(name, group);
}

function placeOf({ labels: { le: _, ...labels } }: ReadSample): string {
  return JSON.stringify(labels);
}

function checkHistogram(name: string, samples: readonly ReadSample[]): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
  const count = samples.find((sample) => sample.name === `${name}_count`)?.value;
  let [bound, below] = [-Infinity, 0];
  for (const { labels, value, exemplar } of buckets) {
    const le = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
    if (!(le > bound) || value < below) throw new Error(`${name}: bucket ${labels['le']} is out of order`);
    if (exemplar !== undefined && !(exemplar.value > bound && exemplar.value <= le))
      throw new Error(`${name}: the exemplar ${exemplar.value} is not in bucket ${labels['le']}`);
    if (!/^\+Inf$|[.e]/.test(labels['le']!)) throw new Error(`${name}: bound ${labels['le']} is not a float`);
    [bound, below] = [le, value];
  }
  if (bound !== Infinity || below !== count) throw new Error(`${name}: the last bucket does not have all values`);
  if (!samples.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum`);
}
