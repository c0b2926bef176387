import { dirname } from 'node:path';
import { workerHeapSize } from '../changes/heap-room.js';
import { encodeTree } from '../config/tree-codec.js';
import type { MasterChannels } from '../kernel/channel-hub.js';
import type { Instance } from '../kernel/instance.js';
import { loadModuleLines } from '../kernel/load-modules.js';
import type { WorkerStart, WorkerState } from '../worker/protocol.js';
import type { ZoneSet } from '../zone/zone-set.js';
import type { MasterOptions } from './master-options.js';

interface Sources {
  readonly options: Pick<MasterOptions, 'prefix' | 'source' | 'errorLog' | 'places' | 'log' | 'parent'>;
  readonly instance: Instance;
  readonly zones: ZoneSet;
  readonly channels: MasterChannels;
  readonly keyValue: () => WorkerSnapshot | undefined;
  /** The same for all workers. */
  readonly shared: Pick<WorkerStart, 'figures' | 'control' | 'secret'>;
  /** Another program had the sockets before. */
  readonly takesOver: boolean;
}

interface WorkerSnapshot {
  readonly channel: string;
  snapshot(): unknown;
}

/** How many workers there are, and what each gets from the main thread. */
export class WorkerSupply {
  constructor(private readonly sources: Sources) {}

  /** Workers that are to run. */
  count(): number {
    const { places, log } = this.sources.options;
    const { worker_processes: wanted } = this.sources.instance.settings.main;
    const most = places - 1;
    if (wanted > most) log.write('warn', `worker_processes ${wanted} exceeds the ${most} slots reserved at start; restart to raise it`);
    return Math.min(wanted, most);
  }

  get heapSize(): number {
    return workerHeapSize(this.sources.instance.settings.main.worker_heap_size);
  }

  /** Data that a worker starts with. */
  start(index: number, place: number): WorkerStart {
    const { options, instance, shared, takesOver } = this.sources;
    const { prefix, source, errorLog, places, parent } = options;
    const { root, program, version, modules } = instance.options.installation;
    return {
      ...shared,
      installation: { root, program, version, modules },
      index,
      place,
      prefix,
      confFolder: dirname(source.conf),
      errorLog,
      lines: loadModuleLines(instance.tree.root).map(({ id, name, args, source: written }) => ({ id, name, args, source: written })),
      modules: instance.share,
      workers: places,
      asksForSockets: parent !== undefined || takesOver,
      socketsStay: parent !== undefined,
    };
  }

  /** Configuration and state as a worker gets them when it joins, between two transactions. */
  state(): WorkerState {
    const { instance, zones, channels, keyValue } = this.sources;
    return {
      tree: encodeTree(instance.tree.root),
      files: instance.files.inForce,
      modules: instance.share,
      zones: zones.shares(),
      snapshots: [keyValue(), channels].flatMap((state) => (state ? { channel: state.channel, snapshot: state.snapshot() } : [])),
    };
  }
}
