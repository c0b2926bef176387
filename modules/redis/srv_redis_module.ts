import { choice, confPath, number, text, time } from '../../core/contract/args.js';
import { Events } from '../../core/contract/events.js';
import { Log } from '../../core/contract/log.js';
import { coreModule, type MainScope } from '../../core/contract/manifest.js';
import { Redis, type ClusterChanges, type RedisConnection, type RedisStatus } from '../../core/contract/redis.js';
import type { Resource } from '../../core/contract/resource.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ArgError, directive } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { BlockConnection } from './redis-connection.js';
import { blockDirectives, clusterSecret, placeOf, redisSettings, type ReadText, type RedisSettings } from './redis-settings.js';

const directives = {
  redis: directive({
    in: ['main'],
    args: { name: text('name') },
    many: true,
    block: { context: 'redis', directives: blockDirectives },
    identity: ({ args }) => args[0]?.text ?? '',
    doc: 'Connections to Redis, under a name that other directives use. The main thread has them; requests never wait for Redis.',
  }),
  cluster_changes: directive({
    in: ['main'],
    args: { store: choice('redis'), name: text('name') },
    doc: 'Changes of the configuration through the API are those of all nodes of the cluster. Redis has their order. Changes with the next start.',
  }),
  cluster_key_file: directive({
    in: ['main'],
    args: confPath(),
    doc: 'File with the key that changes are encrypted with on their way to other nodes (AES-256-GCM): 32 characters or more, mode 0600. Without it changes with private keys are rejected.',
  }),
  cluster_wait: directive({
    in: ['main'],
    args: { replicas: number({ min: 1 }), timeout: time() },
    doc: 'Replicas of Redis that must have a change, and the longest time until they do; otherwise the response is 503.',
  }),
};

type Blocks = ReadonlyMap<string, RedisSettings>;

/** Values of the `cluster_` directives. */
type ClusterSettings = Pick<ClusterChanges, 'secret' | 'wait'> & { readonly name: string };

const reader =
  (scope: MainScope<typeof directives>, line: Directive | undefined): ReadText =>
  (path) =>
    scope.file(path, ({ text }) => text, line);

/** Connections of the main thread to Redis, for the features that share state between nodes. */
@coreModule({ name: 'srv_redis_module', api: 1, plane: 'data', directives, provides: [Redis] })
export class RedisModule extends Redis {
  readonly #connections = new Map<string, BlockConnection>();
  #blocks: Blocks = new Map();
  #cluster: ClusterSettings | undefined;
  #isStarted = false;
  /** At the start. */
  #clusterName = '';

  constructor(
    private readonly info: ServerInfo,
    private readonly log: Log,
    private readonly events: Events,
  ) {
    super();
  }

  connection(name: string): RedisConnection {
    return this.#connection(name);
  }

  get changes(): ClusterChanges | undefined {
    return this.#cluster && { ...this.#cluster, connection: this.#connection(this.#cluster.name) };
  }

  /** Files are read again with each reload; a connection whose settings are the same stays. */
  compileMain(scope: MainScope<typeof directives>): Resource | undefined {
    if (this.info.role !== 'master') return undefined;
    const blocks = new Map<string, RedisSettings>();
    const lines = scope.lines('redis');
    scope.each(scope.conf.redis.entries(), ([at, { name, block }]) => {
      if (blocks.has(name)) scope.fail(`duplicate redis "${name}"`, lines[at]);
      try {
        blocks.set(name, redisSettings(block, reader(scope, lines[at])));
      } catch (error) {
        if (!(error instanceof ArgError)) throw error;
        scope.fail(`redis "${name}": ${error.message}`, lines[at], error.hint);
      }
    });
    const cluster = this.#clusterOf(scope, blocks);
    const commit = (): void => {
      this.#cluster = cluster;
      this.#apply(blocks);
    };
    return { commit };
  }

  #clusterOf(scope: MainScope<typeof directives>, blocks: Blocks): ClusterSettings | undefined {
    const { cluster_changes: changes, cluster_key_file: file, cluster_wait: wait } = scope.conf;
    if (changes === undefined) return undefined;
    const { name } = changes;
    const [line] = scope.lines('cluster_changes');
    const settings = blocks.get(name);
    if (settings === undefined) scope.fail(`unknown redis "${name}"`, line, `write redis ${name} { … }`);
    if (scope.lines('cluster_name').length === 0) scope.fail('"cluster_changes" requires "cluster_name"', line);
    if (settings.isCluster && wait !== undefined)
      scope.fail('"cluster_wait" is not supported with "cluster on"', scope.lines('cluster_wait')[0]);
    try {
      return {
        name,
        wait,
        secret: file === undefined ? undefined : clusterSecret(file, reader(scope, scope.lines('cluster_key_file')[0])),
      };
    } catch (error) {
      if (!(error instanceof ArgError)) throw error;
      return scope.fail(error.message, scope.lines('cluster_key_file')[0], error.hint);
    }
  }

  start(role: ServerInfo['role']): void {
    if (role !== 'master') return;
    const blocks = this.#blocks;
    this.#blocks = new Map();
    this.#clusterName = this.info.clusterName;
    this.#isStarted = true;
    this.#apply(blocks);
  }

  stop(): void {
    this.#isStarted = false;
    for (const connection of this.#connections.values()) connection.close('srv is ending');
    this.#connections.clear();
  }

  #apply(wanted: Blocks): void {
    const before = this.#blocks;
    const blocks = this.#isStarted ? this.#withKeysOf(before, wanted) : wanted;
    this.#blocks = blocks;
    if (!this.#isStarted) return;
    for (const [name, settings] of blocks) {
      if (JSON.stringify(settings) !== JSON.stringify(before.get(name))) this.#connection(name).open(settings, this.#clusterName);
    }
    for (const name of before.keys()) if (!blocks.has(name)) this.#connection(name).close(`there is no block redis "${name}" any more`);
  }

  /** Keys stay as they are until the next start: a node that follows them does not go over to those of another cluster. */
  #withKeysOf(before: Blocks, wanted: Blocks): Blocks {
    const { clusterName } = this.info;
    if (wanted.size > 0 && clusterName !== this.#clusterName) this.#warnOfRestart(`"cluster_name ${clusterName};"`, this.#clusterName);
    const kept = Array.from(wanted, ([name, settings]): [string, RedisSettings] => {
      const { prefix = settings.prefix } = before.get(name) ?? {};
      if (prefix !== settings.prefix) this.#warnOfRestart(`"prefix ${settings.prefix};" of redis "${name}"`, prefix);
      return [name, { ...settings, prefix }];
    });
    return new Map(kept);
  }

  #warnOfRestart(what: string, now: string): void {
    this.log.write('warn', `${what} takes effect when srv is started again; until then it is "${now}"`);
  }

  #connection(name: string): BlockConnection {
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const connection = new BlockConnection(name);
    connection.watch((status) => this.#changed(name, status));
    this.#connections.set(name, connection);
    return connection;
  }

  #changed(name: string, { state, reason }: RedisStatus): void {
    const settings = this.#blocks.get(name);
    const isOver = !this.#isStarted || settings === undefined;
    if (isOver) return;
    if (state === 'ready') this.log.write('notice', `redis "${name}": connected (${placeOf(settings)})`);
    else this.log.write('error', `redis "${name}" is away: ${reason}`);
    this.events.publish(`redis.${state}`, { name, ...(reason !== undefined && { reason }) }, [name]);
  }
}
