import type { ExchangePlan, NextUpstream } from '../../core/module/services.js';
import type { ProxyScope } from './directives.js';

/** Not passed on unless proxy_pass_header says so: the engine sends its own, or they are orders to the proxy. */
const HIDDEN = [
  'date',
  'server',
  'x-pad',
  'x-accel-expires',
  'x-accel-redirect',
  'x-accel-limit-rate',
  'x-accel-buffering',
  'x-accel-charset',
];

type Conf = ProxyScope['conf'];
type Names = readonly string[];
type Hidden = ExchangePlan['hidden'];

/** What many locations inherit from one place is compiled once: an inherited value of the configuration is one object. */
export class SharedSettings {
  readonly #hidden = new WeakMap<Names, WeakMap<Names, Hidden>>();
  readonly #hiddenWithRanges = new WeakMap<Names, WeakMap<Names, Hidden>>();
  readonly #next = new WeakMap<object, NextUpstream>();

  /** Fields of a response that are not passed on. */
  hidden({ proxy_pass_header: passed, proxy_hide_header: hidden, proxy_force_ranges: forcesRanges }: Conf): Hidden {
    const tables = forcesRanges ? this.#hiddenWithRanges : this.#hidden;
    const known = tables.get(passed)?.get(hidden);
    if (known !== undefined) return known;
    const names = hiddenNames(passed, hidden, forcesRanges);
    tables.set(passed, (tables.get(passed) ?? new WeakMap<Names, Hidden>()).set(hidden, names));
    return names;
  }

  /** @param conf of a location: besides the cases it has limits of its own */
  nextUpstream(conf: Conf): NextUpstream {
    const tries = conf.proxy_next_upstream_tries;
    const timeoutMs = conf.proxy_next_upstream_timeout;
    const known = this.#next.get(conf.proxy_next_upstream);
    if (known?.tries === tries && known.timeoutMs === timeoutMs) return known;
    const next = nextUpstream(conf.proxy_next_upstream.cases, tries, timeoutMs);
    this.#next.set(conf.proxy_next_upstream, next);
    return next;
  }
}

function hiddenNames(passed: Names, hidden: Names, forcesRanges: boolean): Hidden {
  const exempt = new Set(passed.map((name) => name.toLowerCase()));
  // A field that is named by both directives is passed (nginx).
  const names = [...HIDDEN, ...hidden.map((name) => name.toLowerCase())].filter((name) => !exempt.has(name));
  // Whether there are ranges is not the member's affair then.
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
