import type { Replica } from '../control/participant.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { LogFiles } from '../module/services.js';
import type { Zones } from '../zone/zones.js';
import type { Instance } from './instance.js';
import { LogSettings } from './log-settings.js';

/** What an instance needs of the thread or process it lives in. */
export interface Surroundings {
  readonly files: AppendedLogFiles;
  /** Where messages go without an `error_log` line. */
  readonly errorLog: string;
  readonly zones: Zones;
  /** Memory of the connection figures of all workers. */
  readonly figures: SharedArrayBuffer;
}

/** What the thread around an instance has to do with. */
export interface Assembly {
  readonly replicas: readonly Replica[];
  /** Where the server listens. */
  readonly addresses: () => readonly string[];
}

/** Gives an instance its services and its followers, in the order in which they build on each other. */
export function assemble(instance: Instance, { files, errorLog }: Surroundings): Assembly {
  const { services, options } = instance;
  services.provide(LogFiles, files);
  instance.follow(new LogSettings(options.log, { path: errorLog, level: 'error' }));
  return { replicas: [], addresses: () => [] };
}
