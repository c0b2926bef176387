import { flag, number, size, sizeTemplate } from '../../contract/args.js';
import type { ResponseBuffering } from '../../contract/response-buffering.js';
import { directive, type Conf } from '../../contract/spec.js';
import { hasFittingLevels, levelsOf, LEVELS_HINT, temporaryFolder } from '../temporary-folder.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** Bytes of one read from a member, or from a temporary file, where no directive sets another size. */
const WRITE_SIZE = 65_536;
const READ_SIZE = 32_768;

/** Directives for the buffers of responses, by their names without the prefix. @param prefix `proxy` */
export function bufferingDirectives(prefix: string) {
  return {
    buffering: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'on',
      doc: 'Reads a response from the upstream as fast as possible; what the client has not read yet is kept in memory and in a temporary file.',
    }),
    buffer_size: directive({ in: ANYWHERE, args: size(), default: '4k', doc: 'Maximum size of a response header.' }),
    buffers: directive({
      in: ANYWHERE,
      args: { count: number(), size: size() },
      default: '8 4k',
      doc: 'Number and size of buffers for the part of a response that a slow client has not read yet.',
    }),
    busy_buffers_size: directive({
      in: ANYWHERE,
      args: size(),
      doc: 'Bytes of a buffered response that are read from its temporary file at a time, by default 32k.',
    }),
    max_temp_file_size: directive({
      in: ANYWHERE,
      args: size(),
      default: '1g',
      doc: 'Maximum size of the temporary file of a response; 0 disables it, and the upstream waits when the buffers are full.',
    }),
    temp_file_write_size: directive({
      in: ANYWHERE,
      args: size(),
      doc: 'Bytes that are written to a temporary file at a time, by default what was read.',
    }),
    temp_path: directive({
      in: ANYWHERE,
      args: temporaryFolder(`${prefix}_temp_path`),
      default: `${prefix}_temp`,
      doc: 'Folder of the temporary files with responses, and levels of folders in it, named after the last digits of the file.',
    }),
    limit_rate: directive({
      in: ANYWHERE,
      args: sizeTemplate('rate'),
      default: '0',
      doc: 'Bytes per second that a buffered response is read from the upstream with; 0: no limit.',
    }),
  };
}

export type BufferingConf = Conf<ReturnType<typeof bufferingDirectives>>;

/** Rejects the configuration at the directive of that name, see `Scope.fail`. */
export interface BufferingScope {
  lines(name: string): readonly unknown[];
  fail(message: string, place?: string, hint?: string): never;
}

/** Meaning of the directives together. */
export function responseBuffering(conf: BufferingConf): ResponseBuffering {
  const { count, size: bufferSize } = conf.buffers;
  return {
    enabled: conf.buffering,
    headSize: conf.buffer_size,
    memory: count * bufferSize,
    readSize: Math.min(conf.busy_buffers_size ?? READ_SIZE, WRITE_SIZE),
    writeSize: conf.temp_file_write_size ?? WRITE_SIZE,
    maxFileSize: conf.max_temp_file_size,
    folder: conf.temp_path.path,
    levels: levelsOf(conf.temp_path),
    limitRate: conf.limit_rate.constant === '0' ? undefined : conf.limit_rate,
  };
}

/** Rejects sizes that do not fit to each other, in all places, as nginx does. */
export function assertSizes(prefix: string, conf: BufferingConf, scope: BufferingScope): void {
  const { count, size: bufferSize } = conf.buffers;
  const name = (directive: string): string => `${prefix}_${directive}`;
  const fail = (directive: string, message: string): never => scope.fail(`"${name(directive)}" ${message}`, name(directive));
  const largest = Math.max(conf.buffer_size, bufferSize);
  const { busy_buffers_size: busy = 2 * largest, max_temp_file_size: maxFile } = conf;
  const atLeast = `must be equal to or greater than the maximum of the value of "${name('buffer_size')}" and one of the "${name('buffers')}"`;
  if (count === 0 || bufferSize === 0) fail('buffers', 'directive invalid value');
  if (count < 2) scope.fail(`there must be at least 2 "${name('buffers')}"`, name('buffers'));
  if (busy < largest) fail('busy_buffers_size', atLeast);
  if (busy > (count - 1) * bufferSize) {
    const hint =
      conf.busy_buffers_size === undefined ? `by default it is twice the larger of "${name('buffer_size')}" and a buffer` : undefined;
    const place = [name('busy_buffers_size'), name('buffers'), name('buffer_size')].find((line) => scope.lines(line).length > 0);
    scope.fail(`"${name('busy_buffers_size')}" must be less than the size of all "${name('buffers')}" minus one buffer`, place, hint);
  }
  if ((conf.temp_file_write_size ?? largest) < largest) fail('temp_file_write_size', atLeast);
  if (maxFile !== 0 && maxFile < largest)
    fail('max_temp_file_size', `must be equal to zero to disable temporary files usage or ${atLeast}`);
  if (!hasFittingLevels(conf.temp_path)) scope.fail(`"${name('temp_path')}" directive invalid value`, name('temp_path'), LEVELS_HINT);
}
