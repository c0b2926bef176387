import { ArgError } from '../../core/contract/spec.js';
import { parseTime } from '../../core/contract/duration.js';
import type { LogLevel } from '../../core/contract/log.js';
import { parseClients } from '../../core/contract/network.js';
import type { LogLine } from './entry.js';

/** True for entries that a client wants. */
export type EntryFilter = (entry: LogLine) => boolean;

type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** The most severe first. */
const LEVELS: readonly LogLevel[] = ['emerg', 'alert', 'crit', 'error', 'warn', 'notice', 'info', 'debug'];
const HINT = 'terms such as server=shop.example status>=500 status=4xx time>1s client=10.0.0.0/8 level>=warn, separated by spaces';
const MOST_TERMS = 16;

/** Makes the test of one term. An entry without the field does not pass, whatever the operator. */
type TermParser = (operator: Operator, value: string) => EntryFilter;

const FIELDS: Readonly<Record<string, TermParser>> = {
  kind: text(
    (entry) => entry.kind,
    (value) => value === 'access' || value === 'error',
  ),
  server: text((entry) => entry.server),
  host: text((entry) => entry.host),
  method: text((entry) => (entry.kind === 'access' ? entry.method : undefined)),
  upstream: text((entry) => entry.upstream),
  request_id: text((entry) => entry.request_id),
  path: (operator, value) => {
    const wanted = equality(operator);
    return (entry) => entry.kind === 'access' && entry.uri.startsWith(value) === wanted;
  },
  client: (operator, value) => {
    const wanted = equality(operator);
    const contains = parseClients(value);
    return ({ client }) => client !== undefined && contains(client) === wanted;
  },
  status: (operator, value) => {
    const [, group] = /^([1-5])xx$/.exec(value) ?? [];
    if (group !== undefined) {
      const wanted = equality(operator);
      return (entry) => entry.kind === 'access' && (Math.floor(entry.status / 100) === Number(group)) === wanted;
    }
    if (!/^\d{3}$/.test(value)) throw new ArgError(`invalid status "${value}"`, 'a status such as 404, or a group such as 5xx');
    return number(operator, Number(value), (entry) => (entry.kind === 'access' ? entry.status : undefined));
  },
  time: (operator, value) => {
    const ms = parseTime(value);
    if (ms === undefined) throw new ArgError(`invalid time "${value}"`, 'a time such as 500ms or 1s');
    return number(operator, ms, (entry) => (entry.kind === 'access' ? entry.duration * 1000 : undefined));
  },
  level: (operator, value) => {
    const at = LEVELS.indexOf(value as LogLevel);
    if (at < 0) throw new ArgError(`invalid level "${value}"`, LEVELS.join(', '));
    return number(operator, -at, (entry) => (entry.kind === 'error' ? -LEVELS.indexOf(entry.level) : undefined));
  },
};

/**
 * Parses terms that all have to be true: `status>=500 client=10.0.0.0/8`. An empty text is true for every entry.
 * @throws ArgError
 */
export function parseFilter(filter: string): EntryFilter {
  const terms = filter.split(/\s+/).filter((term) => term !== '');
  if (terms.length > MOST_TERMS) throw new ArgError(`the filter has more than ${MOST_TERMS} terms`);
  const tests = terms.map(parseTerm);
  return (entry) => tests.every((test) => test(entry));
}

function parseTerm(term: string): EntryFilter {
  const [, name = '', operator, value = ''] = /^(\w+)(!=|<=|>=|=|<|>)(.+)$/.exec(term) ?? [];
  const parse = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (operator === undefined) throw new ArgError(`invalid term "${term}" of the filter`, HINT);
  if (parse === undefined) throw new ArgError(`unknown field "${name}" of the filter`, `fields: ${Object.keys(FIELDS).join(', ')}`);
  return parse(operator as Operator, value);
}

function text(field: (entry: LogLine) => string | undefined, isValid: (value: string) => boolean = () => true): TermParser {
  return (operator, value) => {
    const wanted = equality(operator);
    if (!isValid(value)) throw new ArgError(`invalid value "${value}" of the filter`);
    return (entry) => {
      const found = field(entry);
      return found !== undefined && (found === value) === wanted;
    };
  };
}

/** @returns true for `=` */
function equality(operator: Operator): boolean {
  if (operator === '=') return true;
  if (operator === '!=') return false;
  throw new ArgError(`the operator "${operator}" does not apply to this field`, '= or !=');
}

function number(operator: Operator, limit: number, field: (entry: LogLine) => number | undefined): EntryFilter {
  const compare = COMPARISONS[operator];
  return (entry) => {
    const value = field(entry);
    return value !== undefined && compare(value, limit);
  };
}

const COMPARISONS: Readonly<Record<Operator, (value: number, limit: number) => boolean>> = {
  '=': (value, limit) => value === limit,
  '!=': (value, limit) => value !== limit,
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
};
