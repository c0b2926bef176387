import { path } from '../../core/contract/args.js';
import { action, ApiError, type ActionContext } from '../../core/contract/control.js';
import type { HttpModule } from '../../core/contract/manifest.js';
import { httpModule } from '../../core/contract/manifest.js';
import type { HttpHandlers, Scope, VariablePrefix } from '../../core/contract/http.js';
import { KEY_VALUE_DEFAULTS, KeyValue, type KeyValuePage, type KeyValueSettings, type RedisPairs } from '../../core/contract/key-value.js';
import type { InputFile } from '../../core/contract/resource.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import { kvConf } from './kv-conf.js';

const directives = {
  dyn_kv_conf: directive({
    in: ['http'],
    args: path(),
    doc: 'File with the settings of the key-value store. It is read again at a reload.',
  }),
};

interface KeyParams {
  readonly key: string;
}
interface SetParams extends KeyParams {
  readonly value: string;
  readonly ttl: number;
}
interface ListParams {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
}

/** Bytes of keys and values after which a page ends: no call is to hold up the others. */
const PAGE_BYTES = 1024 ** 2;

/** Key-value pairs in traffic (`$kv_http_NAME`), and the actions that change them. Every worker reads its own copy. */
@httpModule({ name: 'srv_http_kv_module', api: 1, plane: 'data', directives })
export class KeyValuePairs implements HttpModule {
  readonly variablePrefixes: Readonly<Record<string, VariablePrefix>> = { kv_http_: (key) => () => asBytes(this.pairs.get(key)) };

  /** One function for all servers: they share what it has made of the file. Undefined: no file was named yet. */
  #parse: ((file: InputFile) => KeyValueSettings) | undefined;

  constructor(
    private readonly pairs: KeyValue,
    private readonly info: ServerInfo,
  ) {}

  compileServer(scope: Scope<typeof directives>): HttpHandlers | undefined {
    if (this.info.role !== 'master') return undefined;
    const { dyn_kv_conf: file } = scope.conf;
    if (file === undefined && this.#parse === undefined) return undefined;
    this.#parse ??= (content) => kvConf(content, scope.args);
    const settings = file === undefined ? KEY_VALUE_DEFAULTS : scope.file(file, this.#parse, 'dyn_kv_conf');
    if (settings.redis !== undefined) assertRedis(settings.redis, scope);
    scope.register({ commit: () => this.pairs.configure(settings) });
    return undefined;
  }

  @action('kv.get')
  get({ key }: KeyParams): { value: string; version: string; ttl: number } {
    const [value, version, ttl] = [this.pairs.get(key), this.pairs.version(key), this.pairs.ttl(key)];
    if (value === undefined || version === undefined || ttl === undefined) throw notFound(key);
    return { value, version, ttl };
  }

  @action('kv.set')
  async set({ key, value, ttl }: SetParams, context: ActionContext): Promise<{ version: string | undefined }> {
    await this.pairs.set(key, value, { ...context, ttl });
    return { version: this.pairs.version(key) };
  }

  @action('kv.delete')
  async delete({ key }: KeyParams, context: ActionContext): Promise<void> {
    if (!(await this.pairs.delete(key, context))) throw notFound(key);
  }

  @action('kv.clear')
  async clear(_: unknown, context: ActionContext): Promise<void> {
    await this.pairs.clear(context);
  }

  @action('kv.list')
  list(params: ListParams): KeyValuePage {
    return this.pairs.list({ ...params, maxBytes: PAGE_BYTES });
  }
}

/** Rejects a store in Redis without its block. */
function assertRedis({ name, wait }: RedisPairs, scope: Scope<typeof directives>): void {
  const line = scope.lines('redis').find(({ args }) => args[0]?.text === name);
  if (line === undefined)
    scope.fail(`unknown redis "${name}"`, 'dyn_kv_conf', `write load_module modules/srv_redis_module.js; and redis ${name} { … }`);
  const isCluster = [...(line.block?.named('cluster') ?? [])].some(({ args }) => args[0]?.text === 'on');
  if (isCluster && wait !== undefined) scope.fail('"redis_wait" is not supported with "cluster on"', 'dyn_kv_conf');
}

function notFound(key: string): ApiError {
  return new ApiError(404, 'KeyNotFound', `key "${key}" not found`);
}

/** In traffic, text is bytes, one a character. */
function asBytes(value: string | undefined): string | undefined {
  return value === undefined || /^[\0-\x7f]*$/.test(value) ? value : Buffer.from(value).toString('latin1');
}
