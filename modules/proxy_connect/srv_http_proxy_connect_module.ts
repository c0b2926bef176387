import { rest, template, time, word } from '../../core/contract/args.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import { parseTime } from '../../core/contract/duration.js';
import type { ConnectionEnd } from '../../core/contract/client-connection.js';
import {
  DONE,
  type Handler,
  type HttpHandlers,
  type HttpRequest,
  type Result,
  type Scope,
  type Template,
} from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { parseClientAddress } from '../../core/contract/network.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { Tunnels } from '../../core/contract/tunnel.js';
import { Upstreams } from '../../core/contract/upstreams.js';
import type { TunnelFacts, TunnelHead } from '../../core/contract/tunnel.js';
import { directive } from '../../core/contract/spec.js';
import { parseConnectResponse } from './connect-response.js';
import { parseConnectTarget, type ConnectTarget } from './connect-target.js';
import { destinationDirective, Destinations } from './destinations.js';
import { isInRanges, portRange } from './ports.js';
import { SpecialAddresses } from './special-addresses.js';
import { tunnelDirectives } from './tunnel-directives.js';
import { memberTunnelPlan } from './tunnel-members.js';

const IN = ['server'] as const;
const DATA_TIMEOUT_DOC = 'Time after which a tunnel ends in which no byte has moved.';

const directives = {
  ...tunnelDirectives,
  proxy_connect: directive({
    in: IN,
    doc: 'Makes the server a forward proxy: CONNECT requests open tunnels to the servers that clients name.',
  }),
  proxy_connect_allow: directive({ in: IN, args: rest(portRange()), default: '443 563', doc: 'Ports that tunnels may lead to.' }),
  proxy_connect_destination: destinationDirective,
  proxy_connect_connect_timeout: directive({
    in: IN,
    args: time(),
    default: '60s',
    doc: 'Timeout for connecting to the server, all its addresses together.',
  }),
  proxy_connect_data_timeout: directive({ in: IN, args: time(), doc: `${DATA_TIMEOUT_DOC} Default 60s.` }),
  proxy_connect_read_timeout: directive({ in: IN, args: time(), doc: 'Former name of proxy_connect_data_timeout.' }),
  proxy_connect_send_timeout: directive({ in: IN, args: time(), doc: 'Accepted: it has no effect in the module for nginx either.' }),
  proxy_connect_address: directive({
    in: IN,
    args: template('address[:port] | off'),
    default: 'off',
    doc: 'Address to connect to instead of that of the host that the client names. One without variables is not subject to proxy_connect_destination.',
  }),
  proxy_connect_bind: directive({
    in: IN,
    args: { address: template('address[:port] | off'), transparent: word('transparent') },
    doc: 'Local address that connections to servers come from.',
  }),
  proxy_connect_response: directive({
    in: IN,
    args: template(),
    doc: 'Response that opens a tunnel, from its status line to the empty line.',
  }),
};

type ConnectScope = Scope<typeof directives>;

interface Plan {
  readonly conf: ConnectScope['conf'];
  readonly destinations: Destinations;
  /** Where requests go to (`tunnel_pass address` with variables); undefined: to the server that the client names. */
  readonly pass: Template | undefined;
  /** For a {@link pass} that names an upstream. */
  readonly toMember: Handler | undefined;
  /** Undefined: any. */
  readonly ports: ConnectScope['conf']['proxy_connect_allow'] | undefined;
  readonly bind: Template | undefined;
  readonly connectTimeout: number;
  readonly dataTimeout: number;
  /** Most addresses that are tried for a request. */
  readonly tries: number;
}

/** Tunnel of a request, for its variables. */
interface ConnectState {
  /** Milliseconds, -1: the name could not be resolved. */
  resolveTime: number;
  tunnel: TunnelFacts | undefined;
}

const STATE = {};

/** Forward proxy for CONNECT requests, with the directives of the public module of that name for nginx. */
@httpModule({
  name: 'srv_http_proxy_connect_module',
  api: 1,
  directives,
  variables: {
    connect_host: (request) => targetOf(request)?.host,
    connect_port: (request) => targetOf(request)?.port.toString(),
    connect_addr: (request) => addressText(stateOf(request)?.tunnel?.address),
    proxy_connect_resolve_time: (request) => seconds(stateOf(request)?.resolveTime),
    proxy_connect_connect_time: (request) => tunnelTime(request, 'connectTime'),
    proxy_connect_first_byte_time: (request) => tunnelTime(request, 'firstByteTime'),
  },
})
export class ProxyConnect {
  readonly #special = new SpecialAddresses();

  constructor(
    private readonly tunnels: Tunnels,
    private readonly names: HostNames,
    private readonly log: Log,
    private readonly upstreams: Upstreams,
  ) {}

  compile(scope: ConnectScope): HttpHandlers | undefined {
    const isTunnel = scope.own('tunnel_pass');
    if (!isTunnel && (scope.kind !== 'server' || !scope.own('proxy_connect'))) return undefined;
    if (isTunnel && scope.own('proxy_connect'))
      scope.fail('"tunnel_pass" cannot be used together with "proxy_connect"', 'tunnel_pass', 'remove one of them');
    assertSupported(scope);
    const destinations = new Destinations(scope.conf.proxy_connect_destination, this.#special);
    const target = isTunnel ? scope.conf.tunnel_pass : undefined;
    const toMember = target && this.tunnels.compile(memberTunnelPlan(scope, target));
    if (toMember !== undefined && target?.constant !== undefined)
      return { connect: toMember, explain: { connect: (request, notes) => this.tunnels.explain(toMember, request, notes) } };
    const plan = { ...(isTunnel ? tunnelPlan(scope) : connectPlan(scope)), destinations, toMember };
    return {
      connect: (request) => this.#connect(request, plan),
      explain: { connect: (request, notes) => this.#explain(request, plan, notes) },
    };
  }

  #connect(request: HttpRequest, plan: Plan): Result | Promise<Result> {
    const toMember = this.#toMember(request, plan);
    if (toMember !== undefined) return toMember(request);
    const target = this.#target(request, plan);
    if (typeof target === 'number') return target;
    const state: ConnectState = { resolveTime: 0, tunnel: undefined };
    request.set(STATE, state);
    const fixed = plan.conf.proxy_connect_address.of(request);
    if (plan.pass === undefined && fixed !== 'off' && fixed !== '') return this.#connectFixed(request, plan, state, fixed, target.port);
    if (target.isAddress) return this.#open(request, plan, state, [target.host], target.port);
    return this.#connectName(request, plan, state, target);
  }

  /** Undefined: the target is an address, not an upstream. */
  #toMember(request: HttpRequest, { pass, toMember }: Plan): Handler | undefined {
    return pass !== undefined && this.upstreams.get(pass.of(request)) !== undefined ? toMember : undefined;
  }

  /** Where the client wants to be connected to, or the status that it is rejected with. */
  #target(request: HttpRequest, plan: Plan): ConnectTarget | number {
    if (plan.pass !== undefined) {
      const text = plan.pass.of(request);
      return parseConnectTarget(text) ?? this.#reject(request, 502, 'error', `tunnel_pass: invalid address "${text}"`);
    }
    const target = targetOf(request);
    if (target === undefined) return this.#reject(request, 400, 'info', `client sent invalid target "${request.requestUri}"`);
    if (plan.ports === undefined || isInRanges(target.port, plan.ports)) return target;
    return this.#reject(request, 403, 'error', `proxy_connect: port ${target.port} is not allowed`);
  }

  /** Names are not looked up, and nothing is connected to. */
  #explain(request: HttpRequest, plan: Plan, notes: ExplainNotes): Result {
    const toMember = this.#toMember(request, plan);
    if (toMember !== undefined) return this.tunnels.explain(toMember, request, notes);
    const target = this.#target(request, plan);
    if (typeof target === 'number') return target;
    const { host, port, isAddress } = target;
    const fixed = plan.conf.proxy_connect_address.of(request);
    if (plan.pass === undefined && fixed !== 'off' && fixed !== '') {
      notes.say(`proxy_connect_address: connects to ${fixed} in the place of ${host}`, { address: fixed });
      return notes.end(`a tunnel to ${fixed}`);
    }
    if (!isAddress) notes.assume(`proxy_connect: the address of "${host}" is an allowed destination`);
    if (isAddress && !plan.destinations.allows(host))
      return this.#reject(request, 403, 'error', `proxy_connect: destination ${host} is not allowed`);
    return notes.end(`a tunnel to ${host}:${port}`);
  }

  #connectFixed(request: HttpRequest, plan: Plan, state: ConnectState, text: string, port: number): Result {
    const end = parseClientAddress(text);
    if (end === undefined) return this.#reject(request, 500, 'error', `proxy_connect: invalid address "${text}" in proxy_connect_address`);
    const isWritten = plan.conf.proxy_connect_address.constant !== undefined;
    return this.#open(request, plan, state, [end.address], end.port === 0 ? port : end.port, isWritten);
  }

  async #connectName(request: HttpRequest, plan: Plan, state: ConnectState, { host, port }: ConnectTarget): Promise<Result> {
    const begun = Date.now();
    let addresses: readonly string[];
    try {
      addresses = await this.names.resolve(host, request);
    } catch (error) {
      state.resolveTime = -1;
      return this.#reject(request, 502, 'error', `proxy_connect: ${(error as Error).message}`);
    }
    state.resolveTime = Date.now() - begun;
    return this.#open(request, plan, state, addresses, port);
  }

  /** Only checked addresses are connected to: a later change of the name does not matter. */
  #open(request: HttpRequest, plan: Plan, state: ConnectState, found: readonly string[], port: number, isWritten = false): Result {
    const { conf, destinations } = plan;
    const allowed = found.filter((address) => isWritten || destinations.allows(address));
    if (allowed.length === 0) return this.#reject(request, 403, 'error', `proxy_connect: destination ${found.join(', ')} is not allowed`);
    const from = this.#from(request, plan.bind);
    if (from === null) return 500;
    state.tunnel = this.tunnels.open(request, {
      addresses: allowed.slice(0, plan.tries).map((address) => ({ address, port })),
      from,
      connectTimeout: setTime(request, 'proxy_connect_connect_timeout') ?? plan.connectTimeout,
      idleTimeout: setTime(request, 'proxy_connect_data_timeout') ?? setTime(request, 'proxy_connect_read_timeout') ?? plan.dataTimeout,
      head: (facts) => {
        state.tunnel = facts;
        return headOf(request, conf.proxy_connect_response);
      },
    });
    return DONE;
  }

  /** Null: it is not an address, which is logged. */
  #from(request: HttpRequest, bind: Template | undefined): ConnectionEnd | undefined | null {
    const text = bind?.of(request) ?? 'off';
    if (text === 'off' || text === '') return undefined;
    const end = parseClientAddress(text);
    if (end !== undefined) return end;
    this.log.write('error', `proxy_connect: invalid local address "${text}"`, request);
    return null;
  }

  #reject(request: HttpRequest, status: number, level: 'info' | 'error', text: string): number {
    this.log.write(level, text, request);
    return status;
  }
}

type Settings = Omit<Plan, 'destinations' | 'toMember'>;

function connectPlan({ conf }: ConnectScope): Settings {
  return {
    conf,
    pass: undefined,
    ports: conf.proxy_connect_allow,
    bind: conf.proxy_connect_bind?.address,
    connectTimeout: conf.proxy_connect_connect_timeout,
    dataTimeout: conf.proxy_connect_data_timeout ?? conf.proxy_connect_read_timeout ?? 60_000,
    tries: Infinity,
  };
}

function tunnelPlan({ conf }: ConnectScope): Settings {
  const isLastTry = conf.tunnel_next_upstream.cases.includes('off');
  return {
    conf,
    pass: conf.tunnel_pass,
    ports: undefined,
    bind: conf.tunnel_bind,
    connectTimeout: conf.tunnel_connect_timeout,
    dataTimeout: conf.tunnel_read_timeout,
    tries: isLastTry ? 1 : conf.tunnel_next_upstream_tries || Infinity,
  };
}

function assertSupported(scope: ConnectScope): void {
  const { conf } = scope;
  const { proxy_connect_bind: bind, proxy_connect_response: response, proxy_connect_address: address } = conf;
  if (bind?.transparent === true)
    scope.fail('parameter "transparent" is not supported by this version', 'proxy_connect_bind', 'an address of this machine');
  const constants = [
    ['proxy_connect_bind', bind?.address.constant],
    ['proxy_connect_address', address.constant],
    ['tunnel_bind', conf.tunnel_bind?.constant],
  ] as const;
  for (const [name, text] of constants)
    if (text !== undefined && text !== 'off' && parseClientAddress(text) === undefined)
      scope.fail(`invalid address "${text}"`, name, 'an address such as 192.0.2.1 or [2001:db8::1]:443, or "off"');
  if (scope.own('tunnel_pass') && scope.directive?.args[0]?.text.startsWith('@') === true)
    scope.fail(
      '"tunnel_pass" is not allowed in a named location',
      'tunnel_pass',
      'CONNECT requests are handled in the server or in the location of the path /',
    );
  if (response?.constant !== undefined && parseConnectResponse(response.constant) === undefined)
    scope.fail('invalid response to CONNECT', 'proxy_connect_response', String.raw`such as "HTTP/1.1 200 OK\r\nProxy-Agent: srv\r\n\r\n"`);
  if (scope.lines('proxy_connect_data_timeout').length > 0 && scope.lines('proxy_connect_read_timeout').length > 0)
    scope.fail(
      '"proxy_connect_read_timeout" is the same as "proxy_connect_data_timeout"',
      'proxy_connect_read_timeout',
      'remove one of them',
    );
}

/** @throws Error for a response whose variables break it */
function headOf(request: HttpRequest, response: Template | undefined): TunnelHead | undefined {
  if (response === undefined) return undefined;
  const head = parseConnectResponse(response.of(request));
  if (head === undefined) throw new Error('proxy_connect: invalid response in proxy_connect_response');
  return head;
}

/** A time that `set` has given a request, in milliseconds. */
function setTime(request: HttpRequest, name: string): number | undefined {
  const text = request.variable(name);
  return text === undefined ? undefined : parseTime(text);
}

function stateOf(request: HttpRequest): ConnectState | undefined {
  return request.get(STATE) as ConnectState | undefined;
}

function targetOf({ requestUri }: HttpRequest): ConnectTarget | undefined {
  return requestUri.startsWith('/') ? undefined : parseConnectTarget(requestUri);
}

function addressText(end: ConnectionEnd | undefined): string | undefined {
  if (end === undefined) return undefined;
  return end.address.includes(':') ? `[${end.address}]:${end.port}` : `${end.address}:${end.port}`;
}

/** Undefined: the module had nothing to do with the request. A tunnel that was not begun has no time. */
function tunnelTime(request: HttpRequest, name: 'connectTime' | 'firstByteTime'): string | undefined {
  const state = stateOf(request);
  return state && seconds(state.tunnel?.[name] ?? -1);
}

/** As in nginx's logs: seconds with milliseconds. */
function seconds(milliseconds: number | undefined): string | undefined {
  if (milliseconds === undefined) return undefined;
  return milliseconds < 0 ? '-' : (milliseconds / 1000).toFixed(3);
}
