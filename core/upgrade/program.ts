import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How the command was started, before anything changed its folder or environment. */
export interface CommandLine {
  readonly folder: string;
  /** Of Node.js as it was called: a name, or a path. */
  readonly node: string;
  readonly nodeArguments: readonly string[];
  readonly script: string;
  readonly arguments: readonly string[];
}

export function commandLine(): CommandLine {
  const [, script = '', ...others] = process.argv;
  return { folder: process.cwd(), node: process.argv0, nodeArguments: process.execArgv, script, arguments: others };
}

/** A new program on its way. */
export interface Program {
  readonly pid: number | undefined;
  /** Its output so far, before it connected to this process. */
  readonly said: string;
  /** Resolves with the way it ended. */
  readonly ended: Promise<string>;
  kill(): void;
  /** It stays when this process ends. */
  leave(): void;
}

/**
 * Starts the same command again: another version of it, or of Node.js, if there is one at the same path by now.
 * @param descriptors that it inherits, as the numbers from {@link FIRST_INHERITED} on
 * @param background it gets no terminal, and its errors go to that file
 */
export function startProgram(
  line: CommandLine,
  environment: Readonly<Record<string, string>>,
  descriptors: readonly number[],
  background: { readonly errors: number | 'inherit' } | undefined,
): Program {
  const { file, args, options } = programOf(line);
  const streams =
    background === undefined ? (['inherit', 'inherit', 'inherit'] as const) : (['ignore', 'ignore', background.errors] as const);
  const child = spawn(file, args, {
    ...options,
    detached: background !== undefined,
    stdio: [...streams, ...descriptors],
    env: { ...options.env, ...environment },
  });
  return { pid: child.pid, said: '', ended: endOf(child), kill: () => void child.kill('SIGKILL'), leave: () => child.unref() };
}

/** Numbers of the standard streams come first. */
export const FIRST_INHERITED = 3;

/** Command to spawn. */
export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv };
}

/** Whatever is at the paths of a command now. */
export function programOf(line: CommandLine): ProgramCall {
  const args = [...line.nodeArguments, line.script, ...line.arguments];
  return { file: nodePath(line), args, options: { cwd: line.folder, env: inheritedEnvironment() } };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((done) => {
    child.once('error', (error) => done(`cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => done(signal === null ? `exited with code ${code}` : `was ended by ${signal}`));
  });
}

/** The Node.js that the command would run with now. */
function nodePath({ node, folder }: CommandLine): string {
  if (node.includes('/')) return isProgram(resolve(folder, node)) ? resolve(folder, node) : process.execPath;
  const found = (process.env['PATH'] ?? '').split(delimiter).map((path) => join(resolve(folder, path), node));
  return found.find(isProgram) ?? process.execPath;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The cache of compiled code is that of this installation, if this process has chosen it. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: cache, ...others } = process.env;
  const own = fileURLToPath(new URL('../../', import.meta.url));
  return cache === undefined || cache.startsWith(own) ? others : { ...others, NODE_COMPILE_CACHE: cache };
}
