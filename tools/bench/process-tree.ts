import { readFileSync, readdirSync } from 'node:fs';

/** One line of /proc/PID/stat (proc(5)): what all threads of the process used together. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly userTicks: number;
  readonly systemTicks: number;
  /** Ticks after boot. With the pid it names a process for certain, although pids are used again. */
  readonly startTime: number;
}

/** The process and all its descendants that live now. Empty when it is gone. */
export function processTree(root: number): ProcessStat[] {
  const stats = allProcesses();
  const tree = stats.filter((stat) => stat.pid === root);
  for (const member of tree) tree.push(...stats.filter((stat) => stat.parent === member.pid));
  return tree;
}

/** Undefined when the process is gone, or has ended and only waits for its parent to notice. */
export function readProcess(pid: number): ProcessStat | undefined {
  const line = readProc(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  // The name in parentheses may hold blanks and parentheses itself: the fields are counted after the last one.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return {
    pid,
    parent: Number(fields[1]),
    userTicks: Number(fields[11]),
    systemTicks: Number(fields[12]),
    startTime: Number(fields[19]),
  };
}

/** A file of /proc as text, or undefined when its process is gone or belongs to someone else. */
export function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function allProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((stat) => stat !== undefined);
}
