import { assertDirectivePreconditions } from '../../core/toolkit/directive-preconditions.js';
import type { UpstreamScope } from '../../core/contract/balancer.js';
import { action, ApiError, dryRunReply, route, type ActionContext, type Call, type Reply } from '../../core/contract/control.js';
import type { HealthPlan } from '../../core/contract/health.js';
import { controlModule, httpModule } from '../../core/contract/manifest.js';
import type { LocationScope } from '../../core/contract/http.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Sockets } from '../../core/contract/sockets.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Transactions, type Applied, type Edit } from '../../core/contract/transactions.js';
import { Upstreams, type UpstreamView } from '../../core/contract/upstreams.js';
import { ArgError, type EngineName } from '../../core/contract/spec.js';
import { StreamUpstreams } from '../../core/contract/stream-servers.js';
import type { Directive } from '../../core/contract/tree.js';
import { readReply, writeReply, type Versioned } from '../../core/contract/versioned.js';
import { checkText, invalid, shownCheck, type CheckJson } from './check-json.js';
import { CheckRunner } from './check-runner.js';
import { CHECK_TYPES, checkLineOf, type CheckType } from './check-settings.js';
import { compileChecks, locatedCheck } from './compile-checks.js';
import { checkDirectives, locationDirectives } from './directives.js';
import { Checkers } from './checkers.js';
import * as schemas from './schemas.js';

const NAME = 'srv_http_health_check_module';
const directives = { ...checkDirectives, ...locationDirectives };

/** Schemes and upstreams of directives that pass requests on. */
const TARGETS = { proxy_pass: /^(https?):\/\/([^/$]+)(?:\/|$)/i, grpc_pass: /^(?:(grpcs?):\/\/)?([^/$]+)$/i };

interface CheckParams {
  readonly type: string;
  readonly upstream: string;
}
interface WriteParams extends CheckParams {
  readonly fields: Partial<ShownCheck>;
}

/** An upstream, and the traffic engine that it is for. */
interface FoundUpstream {
  readonly engine: EngineName;
  readonly view: UpstreamView;
}

/** A check as the API shows it. */
type ShownCheck = CheckJson & CheckParams & { readonly engine: EngineName };

/**
 * Active health checks. They are made in the master, once a node, and are lines of `upstream` blocks: the API changes these. Its actions are
 * the whole meaning of that API; the control half adds HTTP.
 */
@httpModule({ name: NAME, api: 1, directives })
export class HealthChecks {
  readonly #runner: CheckRunner;
  readonly #checkers: Checkers;
  /** Upstreams of `http` that can be checked, by name in lower case. */
  readonly #checkable = new Set<string>();

  constructor(
    private readonly upstreams: Upstreams,
    private readonly streams: StreamUpstreams,
    private readonly transactions: Transactions,
    private readonly info: ServerInfo,
    sockets: Sockets,
    tasks: Tasks,
    log: Log,
  ) {
    this.#runner = new CheckRunner(tasks, sockets);
    this.#checkers = new Checkers({ runner: this.#runner, log });
  }

  start(role: 'master' | 'worker' | 'control'): void {
    if (role === 'master') this.#runner.schedule.start();
  }

  stop(): void {
    this.#runner.schedule.stop();
  }

  health(scope: UpstreamScope<typeof checkDirectives>): HealthPlan {
    const settings = compileChecks(scope, this.#runner);
    const [line] = [...Object.values(CHECK_TYPES), 'health_check'].flatMap((name) => [...(scope.directive.block?.named(name) ?? [])]);
    const [zone] = scope.directive.block?.named('zone') ?? [];
    if (line !== undefined && zone === undefined)
      scope.fail(`health checks need a "zone" in upstream "${scope.name}"`, line.name, `zone ${scope.name} 1m;`);
    if (scope.engine === 'http' && zone !== undefined) this.#checkable.add(scope.name.toLowerCase());
    return { create: (upstream, former) => this.#checkers.create(scope.engine, upstream, former, settings) };
  }

  /** nginx's form: the location says how the upstream that it passes to is checked. */
  compile(scope: LocationScope<typeof directives>): undefined {
    const line = scope.own('health_check') ? scope.conf.location_check : undefined;
    if (line === undefined) return;
    const match = scope.conf.match.findLast(({ name }) => name === line.match);
    if (line.match !== '' && match === undefined)
      scope.fail(`unknown match "${line.match}"`, 'health_check', `match ${line.match} { ... }`);
    const directive = line.type === 'grpc' ? 'grpc_pass' : 'proxy_pass';
    const [pass] = scope.lines(directive);
    const [, scheme = '', name = ''] = TARGETS[directive].exec(pass?.args[0]?.text ?? '') ?? [];
    if (!this.#checkable.has(name.toLowerCase()))
      scope.fail(`"health_check" needs a "${directive}" to an upstream with a "zone"`, 'health_check');
    try {
      const upstream = { name, isSecure: scheme.toLowerCase().endsWith('s') };
      const check = locatedCheck(`location ${scope.directive?.id ?? 0}`, line, match, upstream, this.#runner);
      if (this.info.role === 'master') scope.register(this.#checkers.locate(name, check));
    } catch (error) {
      if (error instanceof ArgError) scope.fail(error.message, 'health_check', error.hint);
      throw error;
    }
  }

  @action('hc.list')
  list(): Versioned<readonly ShownCheck[]> {
    const value = [...this.#found('http'), ...this.#found('stream')].flatMap((found) =>
      TYPES.flatMap((type) => {
        const line = checkLineOf(found.view.directive, type);
        return line === undefined ? [] : [shown(type, found, line)];
      }),
    );
    return { value, version: String(this.transactions.version), diff: [] };
  }

  @action('hc.get')
  get({ type, upstream }: CheckParams): Versioned<ShownCheck> {
    const known = typeOf(type);
    const found = this.#upstream(known, upstream);
    const line = checkLineOf(found.view.directive, known);
    if (line === undefined) throw notFound(known, upstream);
    return { value: shown(known, found, line), version: this.transactions.versionOf(line), diff: [] };
  }

  @action('hc.add', { transactional: true })
  add(params: WriteParams, context: ActionContext): Promise<Versioned> {
    return this.#write(params, context, (line) => {
      if (line !== undefined)
        throw new ApiError(409, 'EntryExists', `upstream "${params.upstream}" has a health check of type "${params.type}"`);
    });
  }

  @action('hc.put', { transactional: true })
  put(params: WriteParams, context: ActionContext): Promise<Versioned> {
    return this.#write(params, context, () => undefined);
  }

  @action('hc.remove', { transactional: true })
  async remove({ type, upstream }: CheckParams, context: ActionContext): Promise<Applied> {
    const known = typeOf(type);
    return this.transactions.apply(() => {
      const line = checkLineOf(this.#zoned(known, upstream).view.directive, known);
      if (line === undefined) throw notFound(known, upstream);
      assertDirectivePreconditions(this.transactions, context, line);
      return [{ op: 'remove', target: line }];
    }, context);
  }

  async #write(
    { type, upstream, fields }: WriteParams,
    context: ActionContext,
    assert: (line: Directive | undefined) => void,
  ): Promise<Versioned> {
    const known = typeOf(type);
    const { type: sentType = type, upstream: sentName = upstream, engine, ...json } = fields;
    if (sentType !== type) throw invalid('/type', 'is read-only');
    if (sentName !== upstream) throw invalid('/upstream', 'is read-only');
    let isNew = false;
    const applied = await this.transactions.apply((): Edit[] => {
      const found = this.#zoned(known, upstream);
      if (engine !== undefined && engine !== found.engine) throw invalid('/engine', 'is read-only');
      const { directive } = found.view;
      const line = checkLineOf(directive, known);
      assert(line);
      assertDirectivePreconditions(this.transactions, context, line);
      isNew = line === undefined;
      const text = checkText(known, json, line);
      return [line === undefined ? { op: 'add', parent: directive, text } : { op: 'replace', target: line, text }];
    }, context);
    const [line] = applied.directives;
    if (line === undefined) throw new Error('a change of a health check changed nothing');
    return {
      value: { isNew, check: shown(known, this.#upstream(known, upstream), line) },
      version: context.dryRun ? '' : this.transactions.versionOf(line),
      diff: applied.diff,
    };
  }

  *#found(engine: EngineName): Generator<FoundUpstream> {
    for (const view of (engine === 'http' ? this.upstreams : this.streams).all()) yield { engine, view };
  }

  /** The upstream of a name: of two, for a check of HTTP that of `http`, else that of `stream`. @throws ApiError 404 */
  #upstream(type: CheckType, name: string): FoundUpstream {
    const http = this.upstreams.get(name);
    const stream = this.streams.get(name);
    if (http !== undefined && (type === 'http' || stream === undefined)) return { engine: 'http', view: http };
    if (stream !== undefined) return { engine: 'stream', view: stream };
    throw new ApiError(404, 'UpstreamNotFound', `upstream "${name}" not found`);
  }

  /** @throws ApiError 400, 404 */
  #zoned(type: CheckType, name: string): FoundUpstream {
    const found = this.#upstream(type, name);
    if (found.view.zone === undefined)
      throw new ApiError(400, 'UpstreamStatic', `upstream "${name}" cannot be checked: give it a zone in the configuration`);
    return found;
  }
}

function shown(type: CheckType, { engine, view }: FoundUpstream, line: Directive): ShownCheck {
  return { upstream: view.name, type, engine, ...shownCheck(type, line) };
}

const TYPES = Object.keys(CHECK_TYPES) as readonly CheckType[];

/** @throws ApiError 404 */
function typeOf(type: string): CheckType {
  const known = TYPES.find((one) => one === type);
  if (known === undefined) throw new ApiError(404, 'PathNotFound', `no type "${type}" of health checks: ${TYPES.join(', ')}`);
  return known;
}

function notFound(type: string, upstream: string): ApiError {
  return new ApiError(404, 'HealthCheckNotFound', `upstream "${upstream}" has no health check of type "${type}"`);
}

/** Health checks over HTTP: `/v1/hc`. */
@controlModule({ name: NAME, api: 1, key: 'hc', dataModule: NAME })
export class HealthCheckApi {
  constructor(private readonly dataPlane: DataPlane) {}

  @route('GET', '', schemas.listChecks)
  async checks(call: Call): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('hc.list', {}, call));
  }

  @route('GET', '/:type/:upstream', schemas.getCheck)
  async check(call: Call): Promise<Reply> {
    return readReply(await this.dataPlane.call<Versioned>('hc.get', call.params, call));
  }

  @route('POST', '/:type/:upstream', schemas.addCheck)
  add(call: Call<typeof schemas.addCheck>): Promise<Reply> {
    return this.#write('hc.add', call);
  }

  @route('PUT', '/:type/:upstream', schemas.putCheck)
  put(call: Call<typeof schemas.putCheck>): Promise<Reply> {
    return this.#write('hc.put', call);
  }

  @route('DELETE', '/:type/:upstream', schemas.removeCheck)
  async remove(call: Call): Promise<Reply> {
    const { diff } = await this.dataPlane.call<Applied>('hc.remove', call.params, call);
    return call.dryRun ? dryRunReply(diff) : { status: 204 };
  }

  async #write(action: string, { body, ...call }: Call<typeof schemas.addCheck> | Call<typeof schemas.putCheck>): Promise<Reply> {
    const { value, ...written } = await this.dataPlane.call<Versioned<{ isNew: boolean; check: unknown }>>(
      action,
      { ...call.params, fields: body },
      call,
    );
    const reply = writeReply(call, { ...written, value: value.check });
    return call.dryRun || !value.isNew ? reply : { ...reply, status: 201 };
  }
}
