import { argType } from '../contract/arg-type.js';
import { opendirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { assertFolderAround } from '../toolkit/folder-around.js';
import { systemErrorText } from '../contract/system-error.js';
import { choice, flag, number, optional, path, rest, size, text, time, word } from '../contract/args.js';
import type { Duration } from '../contract/duration.js';
import { ArgError, directive, type ArgType, type Conf } from '../contract/spec.js';
import { LOG_LEVELS } from '../log/levels.js';
import { parseSyslog } from '../log/syslog-target.js';
import { namesSyslog } from '../toolkit/open-log.js';
import type { LogLevel } from '../contract/log.js';
import { nodeName } from './node-name.js';
import { systemName } from './system-names.js';

/** More would only be waste of memory, and lanes of shared figures are counted. */
const MOST_WORKERS = 256;

/** `worker_processes`: a number, or `auto` for one a core. */
function workerCount(): ArgType<number> {
  const count = number({ min: 1, max: MOST_WORKERS });
  return argType({
    kind: 'number',
    form: 'number | auto',
    parse(value, context) {
      if (value === 'auto') return Math.min(availableParallelism(), MOST_WORKERS);
      if (/\D/.test(value)) throw new ArgError('"worker_processes" directive invalid value', 'a whole number, or auto');
      return count.parse(value, context);
    },
  });
}

/** A log: `stderr`, a path under the prefix, or a syslog server. */
function logPath(): ArgType<string> {
  const file = path();
  return argType({
    kind: 'path',
    form: 'file | stderr | syslog:server=address[,parameter=value]',
    parse(value, context) {
      if (value.startsWith('memory:')) throw new ArgError(`unsupported log "${value}"`, 'write to a file, to stderr, or to syslog');
      if (namesSyslog(value, context)) {
        parseSyslog(value);
        return value;
      }
      return value === 'stderr' ? value : file.parse(value, context);
    },
  });
}

const DEFAULT_PID = 'logs/srv.pid';

/** The pid file. Its folder has to exist, as in nginx; but the one of the default is made at the start, which works in an empty prefix. */
function pidPath(): ArgType<string> {
  const file = path();
  return {
    ...file,
    parse(value, context) {
      const result = file.parse(value, context);
      if (dirname(result) !== dirname(context.path(DEFAULT_PID))) assertFolderAround(result, 'open');
      return result;
    },
  };
}

/** Parts of nginx that can be debugged alone: here it is all of them. */
const DEBUG_PARTS: ReadonlySet<string> = new Set(
  ['core', 'alloc', 'mutex', 'event', 'http', 'mail', 'stream'].map((part) => `debug_${part}`),
);

function logLevel(): ArgType<LogLevel> {
  return argType({
    kind: 'choice',
    form: LOG_LEVELS.join(' | '),
    parse(value) {
      const level = DEBUG_PARTS.has(value) ? 'debug' : LOG_LEVELS.find((known) => known === value);
      if (level === undefined) throw new ArgError(`invalid log level "${value}"`, `one of: ${LOG_LEVELS.join(', ')}`);
      return level;
    },
  });
}

/** Cores, a binary digit each, the last one first. */
function cpuMask(): ArgType<string> {
  return argType({
    kind: 'text',
    form: 'mask',
    parse(value) {
      const [wrong] = /[^01 ](?=[01 ]*$)/.exec(value) ?? [];
      if (wrong !== undefined) throw new ArgError(`invalid character "${wrong}" in "worker_cpu_affinity"`, 'a mask is written like 0101');
      return value;
    },
  });
}

function cpuMaskOrAuto(): ArgType<string> {
  const mask = cpuMask();
  return { ...mask, form: 'mask | auto', parse: (value, context) => (value === 'auto' ? value : mask.parse(value, context)) };
}

/** Methods that nginx has on this system, and one of ours. */
function eventMethods(platform: NodeJS.Platform): readonly string[] {
  if (platform === 'linux') return ['epoll', 'node', 'poll', 'select'];
  if (platform === 'darwin' || platform === 'freebsd') return ['kqueue', 'node', 'poll', 'select'];
  return platform === 'sunos' ? ['eventport', '/dev/poll', 'poll', 'select'] : ['poll', 'select'];
}

function eventMethod(): ArgType<string> {
  const methods = eventMethods(process.platform);
  return argType({
    kind: 'text',
    form: 'method',
    parse(value) {
      if (!methods.includes(value)) throw new ArgError(`invalid event type "${value}"`, `one of: ${methods.join(', ')}`);
      return value;
    },
  });
}

/** A folder that a process can change to. */
function workingFolder(): ArgType<string> {
  const folder = path();
  return {
    ...folder,
    parse(value, context) {
      const full = folder.parse(value, context);
      try {
        opendirSync(full).closeSync();
      } catch (error) {
        throw new ArgError(`chdir("${full}") failed (${systemErrorText(error)})`);
      }
      return full;
    },
  };
}

/** `name` or `name=value`. */
function assignment(): ArgType<{ readonly name: string; readonly value: string | undefined }> {
  return argType({
    kind: 'text',
    form: 'variable[=value]',
    parse(value) {
      const equals = value.indexOf('=');
      return equals < 0 ? { name: value, value: undefined } : { name: value.slice(0, equals), value: value.slice(equals + 1) };
    },
  });
}

/** @param least milliseconds @param most milliseconds */
function timeBetween(least: number, most: number): ArgType<number, Duration> {
  const base = time();
  return {
    ...base,
    parse(value, context, written) {
      const ms = base.parse(value, context, written);
      if (ms < least || ms > most) throw new ArgError(`invalid value "${value}"`, `${base.print(least)} to ${base.print(most)}`);
      return ms;
    },
  };
}

export const eventsDirectives = {
  worker_connections: directive({
    in: ['events'],
    args: number({ min: 1 }),
    default: '512',
    doc: 'Maximum number of simultaneous connections of a worker, those to members included.',
  }),
  accept_mutex: directive({ in: ['events'], args: flag(), doc: 'Accepted: the kernel spreads connections over the workers.' }),
  accept_mutex_delay: directive({ in: ['events'], args: time(), doc: 'Accepted; has no effect.' }),
  multi_accept: directive({ in: ['events'], args: flag(), doc: 'Accepted: all waiting connections are accepted at once.' }),
  use: directive({
    in: ['events'],
    args: eventMethod(),
    doc: '`epoll`: connections use the system calls of Linux, and TLS the OpenSSL of Node.js without its sockets (Node.js 26). All others: the sockets of Node.js. Default: `epoll` where it is possible, else `node`.',
  }),
  io_uring: directive({
    in: ['events'],
    args: flag(),
    default: 'on',
    doc: 'Reads and writes of several connections are made by one call of the system, with the method `epoll` (Linux 6.6, and where it is not forbidden).',
  }),
  debug_connection: directive({ in: ['events'], args: text('address'), many: true, doc: 'Accepted; has no effect.' }),
  worker_aio_requests: directive({ in: ['events'], args: number({ min: 1 }), doc: 'Accepted; has no effect.' }),
};

export const mainDirectives = {
  daemon: directive({ in: ['main'], args: flag(), default: 'on', doc: 'Runs the server in the background.' }),
  master_process: directive({
    in: ['main'],
    args: flag(),
    default: 'on',
    doc: 'Accepted for compatibility: there is always a main thread.',
  }),
  worker_processes: directive({ in: ['main'], args: workerCount(), default: '1', doc: 'Number of worker threads.' }),
  worker_shutdown_timeout: directive({
    in: ['main'],
    args: time(),
    doc: 'Time limit of a graceful shutdown, after which connections are closed; after a reload, time limit of requests that began before it.',
  }),
  worker_heap_size: directive({
    in: ['main'],
    // With less, V8 ends the whole process while it makes the thread.
    args: size({ min: '32m' }),
    doc: 'Maximum heap of a worker, at least 32m; a worker that needs more is ended and replaced. Default: half of the memory, at most 4g.',
  }),
  worker_rlimit_nofile: directive({
    in: ['main'],
    args: number({ min: 1 }),
    doc: 'Maximum number of open files of the whole server, set at a start. More than the limit that it is started with (`ulimit -Hn`) needs root.',
  }),
  worker_rlimit_core: directive({ in: ['main'], args: size(), doc: 'Accepted: the limit is inherited (ulimit -c).' }),
  worker_priority: directive({ in: ['main'], args: number({ min: -(2 ** 31) }), doc: 'Accepted; has no effect.' }),
  worker_cpu_affinity: directive({
    in: ['main'],
    args: { first: cpuMaskOrAuto(), masks: rest(cpuMask(), 0) },
    doc: 'Accepted; threads are placed by the system.',
  }),
  user: directive({
    in: ['main'],
    args: { name: systemName('passwd'), group: optional(systemName('group')) },
    doc: 'User and group the process switches to after opening its sockets.',
  }),
  pid: directive({ in: ['main'], args: pidPath(), default: DEFAULT_PID, doc: 'File that stores the process id of the main process.' }),
  lock_file: directive({ in: ['main'], args: path(), doc: 'Accepted; no lock file is needed.' }),
  error_log: directive({
    in: ['main', 'http', 'server', 'location'],
    args: { path: logPath(), level: optional<LogLevel, unknown, LogLevel>(logLevel(), 'error'), json: word('json') },
    many: true,
    dynamic: true,
    doc: 'Log file, and the lowest level of messages that are written to it. `json`: each line is a JSON object with the time, the level, the message, the client, the server and so on in keys of their own.',
  }),
  load_module: directive({
    in: ['main'],
    args: text('file'),
    many: true,
    doc: 'Loads a module from the prefix, otherwise from the installation; all that a pattern such as `modules/srv_http_dyn_*_module.so` matches and that fit: at least one.',
  }),
  env: directive({ in: ['main'], args: assignment(), many: true, doc: 'Sets an environment variable.' }),
  working_directory: directive({ in: ['main'], args: workingFolder(), doc: 'Working directory of the server.' }),
  cluster_name: directive({ in: ['main'], args: text('name'), doc: 'Name of the cluster this node belongs to.' }),
  node_name: directive({
    in: ['main'],
    args: nodeName(),
    doc: 'Name of this node in events, in the history of changes, and for other nodes: up to 64 letters, digits, `-`, `.` and `_`. Default: the host name.',
  }),
  helper: directive({
    in: ['main'],
    args: { kind: choice('broker', 'ctrl'), module: text('module'), conf: path() },
    many: true,
    doc: 'Starts a helper process with its own configuration.',
  }),
  data_folder: directive({
    in: ['main'],
    args: path(),
    default: 'data',
    doc: 'Directory of API changes and key-value pairs. Each server needs its own.',
  }),
  api_folders: directive({
    in: ['main'],
    args: { folders: rest(path()) },
    doc: 'Folders of the files that configuration set through the API may name. Default: the prefix. The folders of configuration, data and code are excluded unless named.',
  }),
  api_from_data_plane: directive({
    in: ['main'],
    args: flag(),
    default: 'off',
    doc: 'Allows connections to members that lead to the control plane, whose clients then include those of the data plane.',
  }),
  api_timeout: directive({
    in: ['main'],
    args: timeBetween(100, 600_000),
    default: '2s',
    doc: 'In the configuration of the control plane: how long a call of the API waits for a sign of life of the data plane, before it gets 503 `DataPlaneUnavailable`. Workers have three quarters of it for each step of a change.',
  }),
  zone_sync_interval: directive({
    in: ['main', 'http'],
    args: timeBetween(10, 10_000),
    default: '100ms',
    doc: 'How long changes of zones with `sync` are collected before they are sent to the other nodes.',
  }),
  shared_slab_pool_size: directive({ in: ['main'], args: size(), doc: 'Shared memory for the zones of dynamic upstreams.' }),
  start_message: directive({ in: ['main'], args: text('line'), many: true, doc: 'Line that a start in a terminal prints.' }),
  thread_pool: directive({ in: ['main'], args: rest(text()), many: true, doc: 'Accepted; has no effect.' }),
  pcre_jit: directive({ in: ['main'], args: flag(), doc: 'Accepted: regular expressions are always compiled.' }),
  timer_resolution: directive({ in: ['main'], args: time(), doc: 'Accepted; has no effect.' }),
  ssl_engine: directive({ in: ['main'], args: text('device'), doc: 'Accepted; has no effect.' }),
  events: directive({
    in: ['main'],
    block: { context: 'events', directives: eventsDirectives },
    doc: 'Connection processing.',
  }),
};

/** Values of the main level. */
export type MainConf = Conf<typeof mainDirectives>;
/** Values of the `events` block. */
export type EventsConf = Conf<typeof eventsDirectives>;
