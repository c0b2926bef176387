import { apiFolders } from '../changes/api-files.js';
import { effectiveTree } from '../changes/effective-tree.js';
import { fileDigests } from '../changes/file-digests.js';
import { assertHeapRoom } from '../changes/heap-room.js';
import type { Participant } from '../changes/participant.js';
import type { Staging } from '../changes/staging.js';
import { Store } from '../changes/store.js';
import type { TransactionQueue } from '../changes/transactions.js';
import type { ParsedText } from '../config/parser.js';
import { ConfigTree } from '../config/tree.js';
import type { Events } from '../contract/events.js';
import { Redis, type ClusterChanges, type RedisConnection } from '../contract/redis.js';
import { checkWithHelpers } from '../kernel/helper-configurations.js';
import type { Instance } from '../kernel/instance.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { readSettings } from '../kernel/settings.js';
import type { MasterOptions } from './master-options.js';
import type { NodeCluster } from './node-cluster.js';
import { openChanges, type Changes } from './open-changes.js';
import type { Takeover } from './takeover.js';

export interface StoredConfigurationOptions {
  readonly options: Pick<MasterOptions, 'ids' | 'log' | 'source'>;
  readonly instance: Instance;
  readonly staging: Staging;
  readonly events: Events;
  readonly cluster: NodeCluster;
  readonly nodeName: () => string;
  /** The workers that changes are applied in. */
  readonly participants: () => Iterable<Participant>;
  /** Bytes of a worker's heap. */
  readonly heapSize: () => number;
  readonly takeover: Takeover | undefined;
  /** The data folder is open. */
  readonly onStore: (store: Store) => void;
}

/** The configuration of this node: its files with what the API changed, the store that keeps that, and the other nodes that share it. */
export class StoredConfiguration {
  #store: Store | undefined;
  #changes: Changes | undefined;
  /** The files of the start. */
  #file: ConfigTree | undefined;
  /** Name of the `redis` block that has the order of changes. */
  #sharedName: string | undefined;

  constructor(private readonly around: StoredConfigurationOptions) {}

  /** Undefined before {@link bringIntoForce}. */
  get changes(): Changes | undefined {
    return this.#changes;
  }

  get store(): Store | undefined {
    return this.#store;
  }

  get queue(): TransactionQueue {
    if (this.#changes === undefined) throw new Error('the server has not read its configuration yet');
    return this.#changes.transactions;
  }

  /** The connection of a `redis` block. Only after the first commit. */
  readonly redis = (name: string): RedisConnection => this.around.instance.modules.service(Redis).connection(name);

  /** The first configuration: the files with what the journal adds to them. Returns what keeps the journal's side once the server runs. */
  async bringIntoForce(parsed: ParsedText): Promise<() => Promise<void>> {
    const { options, instance, takeover, cluster, heapSize, onStore } = this.around;
    const { ids, log } = options;
    const { tree: file, modules } = await checkWithHelpers(parsed, instance);
    this.#file = file;
    await takeover?.begin();
    const { data_folder: folder, helper } = readSettings(file.root, modules.args).main;
    // Without helpers there is no API: numbers that are never shown need not be kept.
    const unusable = (reason: string): void => log.write('notice', `API changes cannot be stored: ${reason}`);
    const store = (this.#store = helper.length > 0 ? Store.open(folder) : Store.openIfUsable(folder, unusable));
    onStore(store);
    const changes = (this.#changes = this.#open(store));
    const effective = effectiveTree(file, store, { registry: modules.registry, args: modules.args, ids });
    const { tree: after, operations } = effective;
    const prepared = await instance.prepare([{ op: 'root', block: [] }], { after, validated: { tree: file, operations } });
    prepared.commit();
    takeover?.takeState();
    assertHeapRoom(ConfigTree.empty, effective.tree, [], heapSize());
    return async () => {
      changes.transactions.started(effective);
      await changes.transactions.follow();
      cluster.changed();
    };
  }

  #open(store: Store): Changes {
    const { options, instance, staging, events, cluster, nodeName, participants, heapSize } = this.around;
    const { ids, log, source } = options;
    const { prefix, confFolder, installation } = instance.options;
    return openChanges({
      instance,
      store,
      staging,
      nodeName,
      files: { conf: source.conf, read: (texts) => readConfiguration(source, ids, texts) },
      participants,
      ids,
      log,
      heapSize,
      folders: [prefix, confFolder, installation.root],
      apiFolders: () => {
        const { api_folders: lines, data_folder: dataFolder } = instance.settings.main;
        return apiFolders({ named: lines?.folders, prefix, confFolder, dataFolder });
      },
      events,
      redis: this.redis,
      cluster,
    });
  }

  /** At the start. True: changes of the configuration are those of several nodes. */
  async share(): Promise<boolean> {
    const { instance, cluster } = this.around;
    const first = this.#clusterChanges;
    if (first === undefined) return false;
    await instance.startProvider(Redis);
    cluster.useFiles(fileDigests(this.#file ?? ConfigTree.empty));
    this.#file = undefined;
    this.#changes?.share(() => ({ ...(this.#clusterChanges ?? first), connection: first.connection }));
    this.#sharedName = first.connection.name;
    return true;
  }

  /** Applies the files as they are now. @throws what keeps them from taking effect; nothing is changed then */
  async reload(): Promise<void> {
    const { options, instance, cluster } = this.around;
    const { ids, log, source } = options;
    await this.queue.reload(async () => {
      const loaded = await checkWithHelpers(readConfiguration(source, ids), instance);
      this.#file = loaded.tree;
      return loaded;
    });
    if (cluster.isShared && this.#file !== undefined) cluster.useFiles(fileDigests(this.#file));
    this.#file = undefined;
    if (this.#clusterChanges?.connection.name !== this.#sharedName) log.write('warn', '"cluster_changes" takes effect with the next start');
  }

  get #clusterChanges(): ClusterChanges | undefined {
    return this.around.instance.modules.optionalService(Redis)?.changes;
  }

  /** Stops to follow what other nodes change. */
  unfollow(): void {
    this.#changes?.transactions.unfollow();
    this.#changes?.keyValue.unfollow();
  }

  /** After the last change. */
  async close(): Promise<void> {
    await this.#changes?.transactions.close();
    this.#changes?.keyValue.close();
    this.#store?.close();
  }
}
