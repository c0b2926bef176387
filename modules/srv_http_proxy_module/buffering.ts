import { flag, number, size } from '../../core/module/args.js';
import type { ResponseBuffering } from '../../core/module/services.js';
import { directive } from '../../core/module/spec.js';
import { hasFittingLevels, levelsOf, LEVELS_HINT, temporaryFolder } from '../../core/module/temporary-folder.js';
import type { ProxyScope } from './directives.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** What is read from a member, or from a temporary file, at once where no directive says otherwise. */
const WRITE_SIZE = 65_536;
const READ_SIZE = 32_768;

export const bufferingDirectives = {
  proxy_buffering: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Reads a response from the upstream as fast as possible; what the client has not read yet is kept in memory and in a temporary file.',
  }),
  proxy_buffer_size: directive({ in: ANYWHERE, args: size(), default: '4k', doc: 'Maximum size of a response header.' }),
  proxy_buffers: directive({
    in: ANYWHERE,
    args: { count: number(), size: size() },
    default: '8 4k',
    doc: 'Number and size of buffers for the part of a response that a slow client has not read yet.',
  }),
  proxy_busy_buffers_size: directive({
    in: ANYWHERE,
    args: size(),
    doc: 'Bytes of a buffered response that are read from its temporary file at a time, by default 32k.',
  }),
  proxy_max_temp_file_size: directive({
    in: ANYWHERE,
    args: size(),
    default: '1g',
    doc: 'Maximum size of the temporary file of a response; 0 disables it, and the upstream waits when the buffers are full.',
  }),
  proxy_temp_file_write_size: directive({
    in: ANYWHERE,
    args: size(),
    doc: 'Bytes that are written to a temporary file at a time, by default what was read.',
  }),
  proxy_temp_path: directive({
    in: ANYWHERE,
    args: temporaryFolder('proxy_temp_path'),
    default: 'proxy_temp',
    doc: 'Folder of the temporary files with responses, and levels of folders in it, named after the last digits of the file.',
  }),
  proxy_limit_rate: directive({
    in: ANYWHERE,
    args: size(),
    default: '0',
    doc: 'Bytes per second that a buffered response is read from the upstream with; 0: no limit.',
  }),
};

/** What the directives say together. They have to fit to each other in all places, as in nginx. */
export function responseBuffering(scope: ProxyScope): ResponseBuffering {
  const { conf } = scope;
  const { count, size: bufferSize } = conf.proxy_buffers;
  return {
    enabled: conf.proxy_buffering,
    headSize: conf.proxy_buffer_size,
    memory: count * bufferSize,
    readSize: Math.min(conf.proxy_busy_buffers_size ?? READ_SIZE, WRITE_SIZE),
    writeSize: conf.proxy_temp_file_write_size ?? WRITE_SIZE,
    maxFileSize: conf.proxy_max_temp_file_size,
    folder: conf.proxy_temp_path.path,
    levels: levelsOf(conf.proxy_temp_path),
    limitRate: conf.proxy_limit_rate,
  };
}

export function assertSizes(scope: ProxyScope): void {
  const { conf } = scope;
  const { count, size: bufferSize } = conf.proxy_buffers;
  const largest = Math.max(conf.proxy_buffer_size, bufferSize);
  const { proxy_busy_buffers_size: busy = 2 * largest, proxy_max_temp_file_size: maxFile } = conf;
  const atLeast = 'must be equal to or greater than the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"';
  if (count === 0 || bufferSize === 0) scope.fail('"proxy_buffers" directive invalid value', 'proxy_buffers');
  if (count < 2) scope.fail('there must be at least 2 "proxy_buffers"', 'proxy_buffers');
  if (busy < largest) scope.fail(`"proxy_busy_buffers_size" ${atLeast}`, 'proxy_busy_buffers_size');
  if (busy > (count - 1) * bufferSize) {
    const hint =
      conf.proxy_busy_buffers_size === undefined ? 'by default it is twice the larger of "proxy_buffer_size" and a buffer' : undefined;
    const place = ['proxy_busy_buffers_size', 'proxy_buffers', 'proxy_buffer_size'].find((name) => scope.lines(name).length > 0);
    scope.fail('"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer', place, hint);
  }
  if ((conf.proxy_temp_file_write_size ?? largest) < largest)
    scope.fail(`"proxy_temp_file_write_size" ${atLeast}`, 'proxy_temp_file_write_size');
  if (maxFile !== 0 && maxFile < largest) {
    scope.fail(
      `"proxy_max_temp_file_size" must be equal to zero to disable temporary files usage or ${atLeast}`,
      'proxy_max_temp_file_size',
    );
  }
  if (!hasFittingLevels(conf.proxy_temp_path)) scope.fail('"proxy_temp_path" directive invalid value', 'proxy_temp_path', LEVELS_HINT);
}
