/**
 * Sockets that systemd has opened (`.socket` units, sd_listen_fds(3)). The process that holds them for the server reads what they are; a parent
 * that takes its place gets them the same way, under a name of our own.
 */
import { ACTIVATION_MARK } from './marks.js';

/** A descriptor that this process was started with. */
export interface PassedDescriptor {
  readonly descriptor: number;
  /** Of `FileDescriptorName=`; by default that of the unit. */
  readonly name: string;
}

const FIRST_DESCRIPTOR = 3;
/** Environment variables of systemd. None of them are for the processes that this one starts. */
const VARIABLES = ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];

/** The sockets of this process. They are found once: the environment does not name them any more. */
export function passedDescriptors(): readonly PassedDescriptor[] {
  const { LISTEN_PID: pid, LISTEN_FDS: count, LISTEN_FDNAMES: names = '', [ACTIVATION_MARK]: inherited } = process.env;
  for (const variable of [...VARIABLES, ACTIVATION_MARK]) delete process.env[variable];
  if (inherited !== undefined) return JSON.parse(inherited) as PassedDescriptor[];
  // They are another process's: this one has inherited the environment and nothing else.
  if (Number(pid) !== process.pid || !/^\d{1,4}$/.test(count ?? '')) return [];
  const given = names.split(':');
  return Array.from({ length: Number(count) }, (_, at) => ({ descriptor: FIRST_DESCRIPTOR + at, name: given[at] ?? '' }));
}

/** For the environment of a parent that inherits them. @param first its number of the first one */
export function activationOf(sockets: readonly PassedDescriptor[], first: number): Readonly<Record<string, string>> {
  if (sockets.length === 0) return {};
  return { [ACTIVATION_MARK]: JSON.stringify(sockets.map(({ name }, at): PassedDescriptor => ({ name, descriptor: first + at }))) };
}
