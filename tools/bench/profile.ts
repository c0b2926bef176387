import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Lab } from './lab.js';
import { withSite } from './running-site.js';
import { srvServer } from './servers.js';
import { table } from './table.js';
import { drive, trafficNamed, trafficObstacle, trafficShape } from './traffic.js';

const SHOWN_FUNCTIONS = 30;

/** A thread that is less busy than this share of the busiest is named, not shown. */
const SHOWN_SHARE = 0.1;

/** A profile of V8, as `node --cpu-prof` writes it (Chrome DevTools protocol, Profiler.Profile). */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  /** Node by node, what ran when a sample was taken. */
  readonly samples: readonly number[];
  /** Microseconds between the samples. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number; readonly columnNumber: number };
}

/** Time that is booked on a function. */
export interface FunctionTime {
  /** Name and place of the function. */
  readonly label: string;
  readonly microseconds: number;
}

/**
 * Runs srv under one of the loads with V8's profiler on, and returns for each of its threads the functions that it spent its
 * time in. Throws when there is no such load or srv wrote no profile.
 * @param keep folder that the profiles are copied to
 */
export async function profileServer(lab: Lab, name: string, keep: string | undefined): Promise<string> {
  const traffic = trafficNamed('--profile', name);
  const obstacle = trafficObstacle(lab, traffic);
  if (obstacle !== undefined) throw new Error(obstacle);

  const dir = lab.folder({});
  const faults: string[] = [];
  const server = srvServer(['--cpu-prof', `--cpu-prof-dir=${dir}`]);
  const load = await withSite(lab, server, trafficShape(traffic), faults, (site) =>
    drive(lab, traffic, site, lab.pace.warmUpSeconds + lab.pace.seconds),
  );
  const files = readdirSync(dir).filter((file) => file.endsWith('.cpuprofile'));
  if (files.length === 0) throw new Error(`srv wrote no profile; ${faults.join('; ')}`);
  if (keep !== undefined) {
    mkdirSync(keep, { recursive: true });
    for (const file of files) cpSync(join(dir, file), join(keep, file));
  }
  const head = `${traffic.title}: ${load.requests} requests in ${load.seconds.toFixed(1)} s with the profiler on`;
  const invalid = [...load.faults, ...faults].map((fault) => `INVALID: ${fault}`);
  return [head, ...invalid, ...describeThreads(files.map((file) => readProfile(join(dir, file))))].join('\n\n');
}

/** Time that functions spent themselves, without those they called. The longest first. */
export function selfTimes(profile: CpuProfile): FunctionTime[] {
  const places = new SourcePlaces();
  return bookTimes(profile, new Map(profile.nodes.map((node) => [node.id, places.label(node)])));
}

/**
 * Time of the functions of srv with what Node and V8 did for them: all time is booked on the nearest caller whose source is a file.
 * The longest first.
 */
export function sourceTimes(profile: CpuProfile): FunctionTime[] {
  const labels = new Map<number, string>();
  const places = new SourcePlaces();
  for (const node of profile.nodes) {
    // A node is before its children, so the label of its nearest caller is known.
    const own = labels.get(node.id);
    const booked = own === undefined || isSource(node) ? places.label(node) : own;
    labels.set(node.id, booked);
    for (const child of node.children ?? []) labels.set(child, booked);
  }
  return bookTimes(profile, labels);
}

function bookTimes(profile: CpuProfile, labels: ReadonlyMap<number, string>): FunctionTime[] {
  const times = new Map<string, number>();
  const idle = new Set(profile.nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  for (const [index, id] of profile.samples.entries()) {
    if (idle.has(id)) continue;
    const name = labels.get(id) ?? '(unknown)';
    // A delta is the time before its sample; what runs until the next sample is taken to be what this one saw.
    times.set(name, (times.get(name) ?? 0) + Math.max(profile.timeDeltas[index + 1] ?? 0, 0));
  }
  return [...times].map(([label, microseconds]) => ({ label, microseconds })).sort((a, b) => b.microseconds - a.microseconds);
}

function describeThreads(profiles: readonly CpuProfile[]): string[] {
  const threads = profiles.map((profile) => ({ profile, busy: busyTime(profile) })).sort((a, b) => b.busy - a.busy);
  const busiest = threads[0]?.busy ?? 0;
  return threads.map(({ profile, busy }, index) => {
    const head = `Thread ${index + 1}: ${(busy / 1e6).toFixed(2)} s busy`;
    if (busy < busiest * SHOWN_SHARE) return head;
    const own = timeTable('functions themselves', selfTimes(profile), busy);
    return [head, own, timeTable('functions of srv with what Node did for them', sourceTimes(profile), busy)].join('\n\n');
  });
}

function busyTime(profile: CpuProfile): number {
  return selfTimes(profile).reduce((sum, { microseconds }) => sum + microseconds, 0);
}

function timeTable(title: string, times: readonly FunctionTime[], total: number): string {
  const rows = times
    .slice(0, SHOWN_FUNCTIONS)
    .map(({ label, microseconds }) => [((microseconds / total) * 100).toFixed(1), (microseconds / 1000).toFixed(0), label]);
  return table(['%', 'ms', title], rows);
}

function isSource({ callFrame }: ProfileNode): boolean {
  return callFrame.url.startsWith('file:');
}

function readProfile(path: string): CpuProfile {
  return JSON.parse(readFileSync(path, 'utf8')) as CpuProfile;
}

/** Places in the TypeScript sources. Each source map is read once: that of the bundle has megabytes. */
class SourcePlaces {
  readonly #maps = new Map<string, SourceMap | undefined>();

  label({ callFrame }: ProfileNode): string {
    const name = callFrame.functionName === '' ? '(anonymous)' : callFrame.functionName;
    return callFrame.url === '' ? name : `${name} ${this.#place(callFrame)}`;
  }

  /** The line of the TypeScript source where there is a source map, else that of the file. */
  #place({ url, lineNumber, columnNumber }: ProfileNode['callFrame']): string {
    if (!url.startsWith('file:')) return `${url}:${lineNumber + 1}`;
    const file = fileURLToPath(url);
    const origin = this.#map(`${file}.map`)?.findEntry(lineNumber, columnNumber);
    const shown = relative(fileURLToPath(new URL('../..', import.meta.url)), file);
    if (origin === undefined || !('originalLine' in origin)) return `${shown}:${lineNumber + 1}`;
    // Code of the bundler itself has no source, whatever the type says.
    const source = origin.originalSource as string | undefined;
    return source === undefined ? `${shown}:${lineNumber + 1}` : `${sourceName(shown, source)}:${origin.originalLine + 1}`;
  }

  #map(path: string): SourceMap | undefined {
    const known = this.#maps.get(path);
    if (known !== undefined || this.#maps.has(path)) return known;
    const map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as SourceMapPayload) : undefined;
    this.#maps.set(path, map);
    return map;
  }
}

/** Of a file of the bundle, which has many sources: the name of the source; of any other file, its own. */
function sourceName(file: string, source: string): string {
  return file.startsWith('bundle') ? source.replace(/^(?:\.\.\/)+/, '') : file.replace(/\.js$/, '.ts');
}
