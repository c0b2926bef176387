import type { DirectiveData } from '../config/tree.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { AppendedLogFiles } from '../log/log-files.js';
import { ZoneSet } from '../zone/zone-set.js';
import { assemble } from './assembly.js';
import type { Instance } from './instance.js';

type Block = readonly DirectiveData[];

/**
 * Compiles a configuration and forgets the result: for the errors that only show then. Ends the instance, and leaves nothing open; but
 * the thread knows the log files, so that it can hand them over when it becomes another user.
 * @param read gives the configuration; called when the instance has its services
 * @throws ConfigErrors, and what `read` throws
 */
export async function compileAlone(instance: Instance, read: () => Block | Promise<Block>): Promise<void> {
  const files = new AppendedLogFiles(instance.options.log.files.paths);
  const memory = { zones: new ZoneSet('private'), figures: new SharedArrayBuffer(FIGURES_SIZE), workers: 1 };
  assemble(instance, { role: 'check', files, errorLog: 'stderr', ...memory });
  try {
    const prepared = await instance.prepare([{ op: 'root', block: await read() }]);
    prepared.abort();
  } finally {
    await instance.stop();
    files.close();
  }
}
