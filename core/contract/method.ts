/** Methods of requests that directives name. */
import { ArgError, type ArgType } from './spec.js';

/** Methods that nginx knows by name. */
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'MKCOL',
  'COPY',
  'MOVE',
  'OPTIONS',
  'PROPFIND',
  'PROPPATCH',
  'LOCK',
  'UNLOCK',
  'PATCH',
] as const;

/** The method of a request, in upper case however it is written. */
export function method(form = 'method'): ArgType<string, string> {
  return {
    kind: 'choice',
    form,
    parse(value) {
      const found = METHODS.find((name) => name === value.toUpperCase());
      if (found === undefined) throw new ArgError(`invalid method "${value}"`, `one of: ${METHODS.join(', ')}`);
      return found;
    },
    print: (value) => value,
    json: { schema: { type: 'string', enum: METHODS }, show: (value) => value, text: (value) => value },
  };
}

/** These methods, and HEAD with GET. */
export function methodSet(methods: Iterable<string>): ReadonlySet<string> {
  const all = new Set(methods);
  if (all.has('GET')) all.add('HEAD');
  return all;
}
