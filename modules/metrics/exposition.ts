import type { Labels } from '../../core/contract/metrics.js';
import { boundsOf, cumulated } from '../../core/toolkit/figures/bounds.js';
import type { PagedExemplar, PagedFamily, PagedSample } from '../../core/toolkit/figures/page.js';

/** `text`: Prometheus's text format 0.0.4. `openmetrics`: OpenMetrics 1.0. `protobuf`: messages of Prometheus, with native histograms. */
export type Format = 'text' | 'openmetrics' | 'protobuf';

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  protobuf: 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
};

/** Figures in a format, family by family. */
export interface Exposition {
  family(family: PagedFamily): Uint8Array | string;
  end(): string;
}

/** The text of figures, family by family. */
export class TextExposition implements Exposition {
  #last: string | undefined;

  constructor(private readonly format: Exclude<Format, 'protobuf'>) {}

  get #isOpen(): boolean {
    return this.format === 'openmetrics';
  }

  family(family: PagedFamily): string {
    const name = family.unit === undefined ? family.name : `${family.name}_${family.unit}`;
    let text = '';
    if (name !== this.#last) {
      text = this.#head(name, family);
      this.#last = name;
    }
    if (family.kind === 'distribution') for (const sample of family.samples) text += this.#distribution(name, family, sample);
    else if (family.kind === 'histogram') for (const sample of family.samples) text += this.#histogram(name, sample);
    else if (family.kind === 'counter') for (const sample of family.samples) text += this.#counter(name, sample);
    else for (const [labels, value] of family.samples) text += `${name}${braced(labelText(labels))} ${numberText(value)}\n`;
    return text;
  }

  end(): string {
    return this.#isOpen ? '# EOF\n' : '';
  }

  #head(name: string, { help, unit, kind }: PagedFamily): string {
    const type = kind === 'distribution' ? 'histogram' : kind;
    if (this.#isOpen) {
      const unitLine = unit === undefined ? '' : `# UNIT ${name} ${unit}\n`;
      return `# TYPE ${name} ${type}\n${unitLine}# HELP ${name} ${escaped(help)}\n`;
    }
    const whole = kind === 'counter' ? `${name}_total` : name;
    return `# HELP ${whole} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${whole} ${type}\n`;
  }

  #counter(name: string, [labels, value, createdAt]: PagedSample<number>): string {
    const place = braced(labelText(labels));
    return `${name}_total${place} ${numberText(value)}\n${this.#created(name, place, createdAt)}`;
  }

  #created(name: string, place: string, createdAt: number | null | undefined): string {
    return this.#isOpen && typeof createdAt === 'number' ? `${name}_created${place} ${createdAt / 1000}\n` : '';
  }

  #distribution(name: string, family: DistributionHead, sample: PagedSample<readonly [number, ...number[]]>): string {
    const [labels, value, createdAt, exemplars] = sample;
    const bounds = boundsOf(family);
    const { counts, count } = cumulated(bounds, value.slice(1));
    const [sum] = value;
    const buckets = bounds.labels.map((bound, at) => [bound, counts[at]!] as const);
    return this.#buckets({ name, labels: labelText(labels), buckets, sum, count, exemplars }, createdAt);
  }

  #histogram(name: string, [labels, value, createdAt]: PagedSample<readonly [number, number, ...number[]]>): string {
    const [sum, count] = value;
    const buckets: [string, number][] = [];
    for (let at = 2; at < value.length; at += 2) buckets.push([String(value[at]), value[at + 1]!]);
    return this.#buckets({ name, labels: labelText(labels), buckets, sum, count }, createdAt);
  }

  #buckets({ name, labels, buckets, sum, count, exemplars }: BucketText, createdAt: number | null | undefined): string {
    const before = labels === '' ? '' : `${labels},`;
    let text = '';
    let previous = -Infinity;
    for (const [bound, below] of buckets) {
      const end = Number(bound);
      text += `${name}_bucket{${before}le="${this.#bound(bound)}"} ${below}${this.#exemplar(exemplars, previous, end)}\n`;
      previous = end;
    }
    const place = braced(labels);
    text += `${name}_bucket{${before}le="+Inf"} ${count}${this.#exemplar(exemplars, previous, Infinity)}\n${name}_sum${place} ${numberText(sum)}\n${name}_count${place} ${count}\n`;
    return text + this.#created(name, place, createdAt);
  }

  /** The exemplar of a bucket: its value is within it. */
  #exemplar(exemplars: readonly PagedExemplar[] | undefined, previous: number, end: number): string {
    if (!this.#isOpen || exemplars === undefined) return '';
    const found = exemplars.find(([value]) => value > previous && value <= end);
    if (found === undefined) return '';
    const [value, at, traceId, spanId] = found;
    return ` # {trace_id="${escaped(traceId)}",span_id="${escaped(spanId)}"} ${value} ${at / 1000}`;
  }

  /** OpenMetrics wants whole bounds with a point. */
  #bound(bound: string): string {
    return this.#isOpen && /^\d+$/.test(bound) ? `${bound}.0` : bound;
  }
}

type DistributionHead = Parameters<typeof boundsOf>[0];

interface BucketText {
  readonly name: string;
  readonly labels: string;
  readonly buckets: readonly (readonly [bound: string, below: number])[];
  readonly sum: number;
  readonly count: number;
  readonly exemplars?: readonly PagedExemplar[] | undefined;
}

/** Names of labels that all formats have. */
export const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Labels without braces. A name that cannot be one is left out. */
function labelText(labels: Labels): string {
  let text = '';
  for (const name in labels) {
    if (!LABEL.test(name) || name === 'le') continue;
    if (text !== '') text += ',';
    text += `${name}="${escaped(labels[name]!)}"`;
  }
  return text;
}

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

// oxlint-disable-next-line no-control-regex
const SPECIAL = /[\\"\n\0]/;

/** Text in quotes. Scrapers take NUL for the end of all. */
function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\0', '\ufffd');
}

/** JSON has no values but finite ones: others come as null. */
function numberText(value: number | null): string {
  return value === null ? 'NaN' : String(value);
}
