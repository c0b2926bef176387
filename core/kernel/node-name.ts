import { hostname } from 'node:os';
import { argType } from '../contract/arg-type.js';
import { ArgError, type ArgType } from '../contract/spec.js';

const LONGEST = 64;
const NAME = new RegExp(`^[\\w.-]{1,${LONGEST}}$`);

/** Name of a node: 1 to 64 letters, digits, `-`, `.` and `_`. */
export function nodeName(): ArgType<string> {
  return argType({
    kind: 'text',
    form: 'name',
    parse(name) {
      if (!NAME.test(name))
        throw new ArgError(`invalid node name "${name}": it must have 1 to ${LONGEST} letters, digits, "-", "." or "_"`);
      return name;
    },
  });
}

/** The host name, with `-` for what a node name must not have. A system allows anything in it. */
export function defaultNodeName(host = hostname()): string {
  const name = host.slice(0, LONGEST).replace(/[^\w.-]/g, '-');
  return name === '' ? 'node' : name;
}
