import type { ExchangePlan, NextUpstream } from '../../contract/exchanges.js';
import type { ResponseBuffering } from '../../contract/response-buffering.js';
import { responseBuffering, type BufferingConf } from './buffering.js';
import type { ExchangeConf } from './directives.js';

/** Orders to the proxy, which are not passed on. */
const ORDERS = ['x-accel-expires', 'x-accel-redirect', 'x-accel-limit-rate', 'x-accel-buffering', 'x-accel-charset'];

type Conf = Pick<
  ExchangeConf,
  'pass_header' | 'hide_header' | 'force_ranges' | 'next_upstream' | 'next_upstream_tries' | 'next_upstream_timeout'
>;
type Names = readonly string[];
type Ignored = ExchangePlan['ignored'];
type Hidden = ExchangePlan['hidden'];

/** Compiles settings that many locations inherit from one place once: an inherited value of the configuration is one object. */
export class SharedSettings {
  readonly #ownHidden: readonly string[];
  readonly #hidden = new WeakMap<Names, WeakMap<Names, Hidden>>();
  readonly #hiddenWithRanges = new WeakMap<Names, WeakMap<Names, Hidden>>();
  readonly #next = new WeakMap<object, NextUpstream>();
  readonly #buffering = new WeakMap<object, ResponseBuffering>();
  readonly #ignored = new WeakMap<object, Ignored>();

  /** @param hidden fields of a response, lower case, that are not passed on unless `pass_header` says so, beside the orders of X-Accel */
  constructor(hidden: readonly string[]) {
    this.#ownHidden = [...hidden, ...ORDERS];
  }

  /** Fields of a response that are not passed on. */
  hidden({ pass_header: passed, hide_header: hidden, force_ranges: forcesRanges }: Conf): Hidden {
    const tables = forcesRanges ? this.#hiddenWithRanges : this.#hidden;
    const known = tables.get(passed)?.get(hidden);
    if (known !== undefined) return known;
    const names = hiddenNames(passed, [...this.#ownHidden, ...hidden], forcesRanges);
    tables.set(passed, (tables.get(passed) ?? new WeakMap<Names, Hidden>()).set(hidden, names));
    return names;
  }

  /** @param conf of a location: besides the cases it has limits of its own */
  nextUpstream(conf: Conf): NextUpstream {
    const tries = conf.next_upstream_tries;
    const timeoutMs = conf.next_upstream_timeout;
    const known = this.#next.get(conf.next_upstream);
    if (known?.tries === tries && known.timeoutMs === timeoutMs) return known;
    const next = nextUpstream(conf.next_upstream.cases, tries, timeoutMs);
    this.#next.set(conf.next_upstream, next);
    return next;
  }

  buffering(conf: BufferingConf): ResponseBuffering {
    const made = responseBuffering(conf);
    const known = this.#buffering.get(conf.buffers);
    if (known !== undefined && isSame(made, known)) return known;
    this.#buffering.set(conf.buffers, made);
    return made;
  }

  /** Fields of a response that are not acted on, in lower case. */
  ignored({ ignore_headers: lines }: Pick<ExchangeConf, 'ignore_headers'>): Ignored {
    const known = this.#ignored.get(lines);
    if (known !== undefined) return known;
    const names = new Set(lines.flatMap(({ names }) => names.map((name) => name.toLowerCase())));
    this.#ignored.set(lines, names);
    return names;
  }
}

function isSame(one: ResponseBuffering, other: ResponseBuffering): boolean {
  const names = Object.keys(one) as (keyof ResponseBuffering)[];
  return names.every((name) => (name === 'levels' ? String(one.levels) === String(other.levels) : one[name] === other[name]));
}

function hiddenNames(passed: Names, hidden: Names, forcesRanges: boolean): Hidden {
  const exempt = new Set(passed.map((name) => name.toLowerCase()));
  // A field that is named by both directives is passed (nginx).
  const names = hidden.map((name) => name.toLowerCase()).filter((name) => !exempt.has(name));
  // The member does not decide about ranges then.
  return new Set(forcesRanges ? [...names, 'accept-ranges'] : names);
}

function nextUpstream(cases: readonly string[], tries: number, timeoutMs: number): NextUpstream {
  const statuses = cases.filter((name) => name.startsWith('http_')).map((name) => Number(name.slice(5)));
  const off = cases.includes('off');
  return {
    error: !off && cases.includes('error'),
    timeout: !off && cases.includes('timeout'),
    invalidHeader: !off && cases.includes('invalid_header'),
    nonIdempotent: cases.includes('non_idempotent'),
    statuses: new Set(off ? [] : statuses),
    tries,
    timeoutMs,
  };
}
