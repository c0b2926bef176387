import { BlockList, isIP } from 'node:net';
import { DECLINED, OK, type Handler, type HttpHandlers, type LocationScope } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { Log } from '../core/module/services.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';

/** Whom a rule is about. */
type Subject = (address: string) => boolean;

/** `all`, `unix:`, an address, or a network in CIDR form. */
function subject(): ArgType<Subject> {
  return {
    kind: 'text',
    form: 'address | CIDR | unix: | all',
    parse(value, { warn }) {
      if (value === 'all') return () => true;
      if (value === 'unix:') return (address) => address === 'unix:';
      const [network = '', prefix] = value.split('/');
      const family = isIP(network);
      const longest = family === 6 ? 128 : 32;
      if (family === 0 || (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > longest))) {
        throw new ArgError(`invalid parameter "${value}"`, 'an address, a network such as 10.0.0.0/8 or 2001:db8::/32, "unix:" or "all"');
      }
      if (prefix !== undefined && hasHostBits(network, Number(prefix))) warn?.(`low address bits of ${value} are meaningless`);
      return inNetwork(network, prefix === undefined ? longest : Number(prefix), family === 6 ? 'ipv6' : 'ipv4');
    },
  };
}

/** True if the address says more than which network is meant. */
function hasHostBits(address: string, prefix: number): boolean {
  return (isIP(address) === 6 ? v6Bits(address) : v4Bits(address)).includes('1', prefix);
}

function v4Bits(address: string): string {
  return address
    .split('.')
    .map((part) => binary(Number(part), 8))
    .join('');
}

function v6Bits(address: string): string {
  // The URL parser writes every form of an address in the same, shortest way.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [groupBits(head), groupBits(tail)];
  return first + '0'.repeat(128 - first.length - last.length) + last;
}

function groupBits(groups: string): string {
  return groups
    .split(':')
    .map((group) => (group === '' ? '' : binary(Number.parseInt(group, 16), 16)))
    .join('');
}

function binary(value: number, digits: number): string {
  return value.toString(2).padStart(digits, '0');
}

/** A v4 client of a v6 socket is a v4 client. To BlockList it is in the v6 networks around its mapped address too; to nginx it is not. */
function inNetwork(network: string, prefix: number, family: 'ipv4' | 'ipv6'): Subject {
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  const kind = family === 'ipv6' ? 6 : 4;
  return (address) => {
    const plain = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
    return isIP(plain) === kind && list.check(plain, family);
  };
}

const rule = directive({
  in: ['http', 'server', 'location', 'limit_except'],
  args: subject(),
  many: true,
  doc: 'The first rule that fits the client decides.',
});
const directives = { allow: rule, deny: rule };

interface Rule {
  readonly allow: boolean;
  readonly fits: Subject;
}

/** Access by client address (ngx_http_access_module). */
@httpModule({ name: 'srv_http_access_module', api: 1, directives })
export class Access {
  constructor(private readonly log: Log) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const rules = this.#rules(scope);
    return rules.length === 0 ? undefined : { access: this.#check(rules) };
  }

  /** The rules of the innermost level that has any, in the order they are written: allow and deny are one list. */
  #rules(scope: LocationScope<typeof directives>): Rule[] {
    let level: LocationScope<typeof directives> | undefined = scope;
    while (level !== undefined && !level.own('allow') && !level.own('deny'))
      level = level.parent as LocationScope<typeof directives> | undefined;
    if (level === undefined) return [];
    const { allow, deny } = level.conf;
    const allows = level.own('allow') ? [...allow] : [];
    const denies = level.own('deny') ? [...deny] : [];
    const rules: Rule[] = [];
    for (const { name } of level.directive?.block ?? []) {
      const fits = name === 'allow' ? allows.shift() : name === 'deny' ? denies.shift() : undefined;
      if (fits !== undefined) rules.push({ allow: name === 'allow', fits });
    }
    return rules;
  }

  #check(rules: readonly Rule[]): Handler {
    return (request) => {
      const { remoteAddress } = request.connection;
      const found = rules.find((candidate) => candidate.fits(remoteAddress));
      if (found === undefined) return DECLINED;
      if (found.allow) return OK;
      this.log.write('error', 'access forbidden by rule', request);
      return 403;
    };
  }
}
