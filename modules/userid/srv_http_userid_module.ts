import { argType } from '../../core/contract/arg-type.js';
import { choice, number, rest, text, time } from '../../core/contract/args.js';
import type { HttpHandlers, HttpRequest, Scope, VariableGetter } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { cookieText, IdentifierSource, parseIdentifier, shownIdentifier, type Identifier } from './identifier.js';

const IN = ['http', 'server', 'location'] as const;

/** In the order that they have in a cookie. */
const FLAGS = ['secure', 'httponly', 'samesite=strict', 'samesite=lax', 'samesite=none'] as const;

/** Seconds, `max`, or undefined for `off`. */
type Expires = number | 'max' | undefined;

function expires(): ArgType<Expires> {
  const seconds = time({ calendar: true });
  return argType({
    kind: 'time',
    form: 'time | max | off',
    parse(value, context) {
      if (value === 'off') return undefined;
      return value === 'max' ? 'max' : Math.floor(seconds.parse(value, context) / 1000);
    },
  });
}

/** Empty: off. */
function mark(): ArgType<string> {
  return argType({
    kind: 'text',
    form: 'letter | digit | = | off',
    parse(value) {
      if (value === 'off') return '';
      if (/^[A-Za-z0-9=]$/.test(value)) return value;
      throw new ArgError('"userid_mark" directive value must be "off" or a single letter, digit or "="');
    },
  });
}

const directives = {
  userid: directive({
    in: IN,
    args: choice('off', 'log', 'v1', 'on'),
    default: 'off',
    doc: 'Identifies clients by a cookie: sends it to clients without one (on; v1 in an older form), or only reads it (log).',
  }),
  userid_name: directive({ in: IN, args: text('name'), default: 'uid', doc: 'Name of the cookie.' }),
  userid_domain: directive({ in: IN, args: text('name | none'), default: 'none', doc: 'Domain of the cookie.' }),
  userid_path: directive({ in: IN, args: text('path'), default: '/', doc: 'Path of the cookie.' }),
  userid_expires: directive({
    in: IN,
    args: expires(),
    default: 'off',
    doc: 'Time for which clients keep it; off: until the browser is closed.',
  }),
  userid_flags: directive({
    in: IN,
    args: { flags: rest(choice('off', ...FLAGS)) },
    default: 'off',
    doc: 'Flags of the cookie.',
  }),
  userid_mark: directive({
    in: IN,
    args: mark(),
    default: 'off',
    doc: 'A mark in the cookie: one without it is sent again, with the same identifier.',
  }),
  userid_p3p: directive({ in: IN, args: text('string | none'), default: 'none', doc: 'The field P3P that is sent with the cookie.' }),
  userid_service: directive({
    in: IN,
    args: number({ max: 2 ** 32 - 1 }),
    doc: 'Number of the server in identifiers; by default the last four octets of its address, and 0 with v1.',
  }),
};

type UserIdScope = Scope<typeof directives>;

/** Effect of `userid` in one scope. */
interface Settings {
  readonly version: 1 | 2 | undefined;
  readonly name: string;
  readonly mark: string;
  readonly service: number | undefined;
  readonly p3p: string;
  readonly expires: Expires;
  /** Parts after the time in the cookie. */
  readonly attributes: string;
}

/** The identifiers of a request. */
interface State {
  readonly settings: Settings;
  readonly got: Identifier | undefined;
  /** Undefined: none is sent. */
  readonly set: Buffer | undefined;
}

const LAST_TIME = 'Thu, 31-Dec-37 23:55:55 GMT';

/** Identifies clients by a cookie (ngx_http_userid_module). */
@httpModule({ name: 'srv_http_userid_module', api: '1.1', directives })
export class UserId {
  #source: IdentifierSource | undefined;
  readonly #settings = new WeakMap<Directive, Settings>();
  /** Some block has settings. */
  #isUsed = false;
  /** Under this key a request keeps its state. */
  readonly #state = {};

  constructor(private readonly log: Log) {}

  readonly variables: Readonly<Record<string, VariableGetter>> = {
    uid_got: (request) => {
      const state = this.#stateOf(request);
      return state?.got && shownIdentifier(state.settings.name, state.got.bytes);
    },
    uid_set: (request) => {
      const state = this.#stateOf(request);
      return state?.set && shownIdentifier(state.settings.name, state.set);
    },
    // A configuration sets it.
    uid_reset: () => undefined,
  };

  compile(scope: UserIdScope): HttpHandlers | undefined {
    const { conf } = scope;
    if (conf.userid === 'off' && !this.#isUsed) return undefined;
    const { directive: block } = scope;
    if (block === undefined) return undefined;
    if (conf.userid === 'off') {
      this.#settings.delete(block);
      return undefined;
    }
    const settings = settingsOf(scope);
    this.#isUsed = true;
    this.#settings.set(block, settings);
    return settings.version === undefined ? undefined : { header: (request) => this.#send(request, settings) };
  }

  #send(request: HttpRequest, settings: Settings): void {
    if (request.parent !== undefined) return;
    const { response } = request;
    const set = this.#stateOf(request, settings)?.set;
    if (set === undefined) return;
    const time = settings.expires === undefined ? '' : `; expires=${timeOf(settings.expires)}`;
    const mark = settings.mark === '' ? '=' : settings.mark;
    response.append('Set-Cookie', `${settings.name}=${cookieText(set, mark)}${time}${settings.attributes}`);
    if (settings.p3p !== '') response.append('P3P', settings.p3p);
  }

  /** Made when it is needed first, and the same from then on. */
  #stateOf(request: HttpRequest, settings = this.#settingsOf(request)): State | undefined {
    const known = request.get(this.#state) as State | undefined;
    if (known !== undefined || settings === undefined) return known;
    const got = this.#got(request, settings);
    const state: State = { settings, got, set: this.#setFor(request, got, settings) };
    request.set(this.#state, state);
    return state;
  }

  #settingsOf({ scope }: HttpRequest): Settings | undefined {
    return scope.directive && this.#settings.get(scope.directive);
  }

  #got(request: HttpRequest, { name }: Settings): Identifier | undefined {
    const cookie = request.variable(`cookie_${name}`);
    if (cookie === undefined) return undefined;
    const parsed = parseIdentifier(cookie);
    if (typeof parsed !== 'string') return parsed;
    this.log.write('error', `client sent ${parsed} userid cookie "${name}=${cookie}"`, request);
    return undefined;
  }

  #setFor(request: HttpRequest, got: Identifier | undefined, settings: Settings): Buffer | undefined {
    if (settings.version === undefined) return undefined;
    const reset = request.variable('uid_reset') ?? '';
    const isReset = reset !== '' && reset !== '0';
    if (got !== undefined && !isReset) return settings.mark === '' || got.mark === settings.mark ? undefined : got.bytes;
    if (got !== undefined && reset === 'log')
      this.log.write('notice', `userid cookie "${shownIdentifier(settings.name, got.bytes)}" was reset`, request);
    this.#source ??= new IdentifierSource();
    return this.#source.next(settings.version, settings.service, request.connection.localAddress);
  }
}

const VERSIONS = { on: 2, v1: 1, log: undefined, off: undefined } as const;

function settingsOf({ conf }: UserIdScope): Settings {
  const { flags } = conf.userid_flags;
  const domain = conf.userid_domain === 'none' ? '' : `; domain=${conf.userid_domain}`;
  const path = conf.userid_path === '' ? '' : `; path=${conf.userid_path}`;
  return {
    version: VERSIONS[conf.userid],
    name: conf.userid_name,
    mark: conf.userid_mark,
    service: conf.userid_service,
    p3p: conf.userid_p3p === 'none' ? '' : conf.userid_p3p,
    expires: conf.userid_expires,
    attributes: domain + path + FLAGS.map((flag) => (flags.includes(flag) ? `; ${flag}` : '')).join(''),
  };
}

/** In the form of the first cookies: `Mon, 22-Nov-27 09:58:19 GMT`. */
function timeOf(expires: number | 'max'): string {
  if (expires === 'max') return LAST_TIME;
  return new Date(Date.now() + expires * 1000).toUTCString().replace(/ (\w{3}) \d\d(\d\d) /, '-$1-$2 ');
}
