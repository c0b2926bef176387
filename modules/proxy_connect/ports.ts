import { argType } from '../../core/contract/arg-type.js';
import { ArgError, type ArgType } from '../../core/contract/spec.js';

/** Ports from the first to the last. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

const HIGHEST = 65_535;

/** A port, a range of ports, or `all`. */
export function portRange(): ArgType<PortRange> {
  return argType({
    kind: 'text',
    form: 'all | port | port-port',
    parse(value) {
      if (value === 'all') return { first: 1, last: HIGHEST };
      const [, low, high = low] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(value) ?? [];
      const range = { first: Number(low), last: Number(high) };
      if (low === undefined || range.first < 1 || range.last > HIGHEST || range.first > range.last)
        throw new ArgError(`invalid port "${value}"`, 'a port such as 443, a range such as 8000-8999, or "all"');
      return range;
    },
  });
}

export function isInRanges(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(({ first, last }) => port >= first && port <= last);
}
