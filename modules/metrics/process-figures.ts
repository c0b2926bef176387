import { readdir, readFile } from 'node:fs/promises';
import type { FigureFamily } from '../../core/contract/families.js';

/** Figures of the process of the data plane, with the names that scrapers expect of every program. */
export async function processFamilies(): Promise<FigureFamily[]> {
  const { user, system } = process.cpuUsage();
  const startedAt = Date.now() - process.uptime() * 1000;
  const [open, most] = await Promise.all([openFiles(), mostFiles()]);
  return [
    one('process_cpu', 'Time of the processor for the data plane.', 'counter', (user + system) / 1000, 'seconds'),
    one('process_resident_memory', 'Memory of the data plane.', 'gauge', process.memoryUsage.rss(), 'bytes'),
    one('process_start_time', 'When the process of the data plane was started, since 1970.', 'gauge', startedAt, 'seconds'),
    ...(open === undefined ? [] : [one('process_open_fds', 'Open file descriptors.', 'gauge', open)]),
    ...(most === undefined ? [] : [one('process_max_fds', 'File descriptors that may be open.', 'gauge', most)]),
  ];
}

function one(name: string, help: string, kind: 'counter' | 'gauge', value: number, unit?: 'seconds' | 'bytes'): FigureFamily {
  return { name, help, kind, ...(unit && { unit }), samples: [{ labels: {}, value }] };
}

async function openFiles(): Promise<number | undefined> {
  const names = await readdir('/proc/self/fd').catch(() => undefined);
  return names?.length;
}

async function mostFiles(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, most] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return most === undefined ? undefined : Number(most);
}
