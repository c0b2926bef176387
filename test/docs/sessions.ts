/**
 * Sessions in the pages of docs: blocks of type `console` with the commands after `$ `, and below each the text that it prints. `…` is any text.
 */
import { execFile } from 'node:child_process';
import { run as srvctl } from '../../core/ctl/main.js';

const LIMIT_MS = 60_000;

export interface Step {
  readonly command: string;
  readonly output: string;
}

export function steps(page: string): Step[] {
  const sessions = Array.from(page.matchAll(/^```console\n(.*?)^```$/gms), ([, session = '']) => session);
  return sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = ''] = /^.*<<'END'\n[^]*?^END\n|^(?:.*\\\n)*.*\n/m.exec(step) ?? [];
        return { command: command.trim(), output: step.slice(command.length) };
      }),
  );
}

/** A call of srvctl from which a shell would make nothing else: words, some of them in quotes. */
const PLAIN_CALL = /^srvctl(?: +(?:'[^']*'|[^\s'"\\$`|<>&;()*?~#[\]{}]+))+$/;

/** Runs a command. @returns what it prints @throws Error when it fails and prints nothing */
export function run(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  if (PLAIN_CALL.test(command)) return runHere(command, cwd, env);
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', `set -o pipefail; ${command}`], { cwd, env, timeout: LIMIT_MS }, (error, stdout, stderr) =>
      error && stdout === '' ? reject(new Error(`${command}: ${error.message}${stderr}`)) : resolve(stdout),
    );
  });
}

/** In this process: most of the time of a call is that of its process. */
async function runHere(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  process.chdir(cwd);
  let [stdout, stderr] = ['', ''];
  const argv = command.match(/'[^']*'|[^\s']+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
  const code = await srvctl(argv.slice(1), {
    env,
    version: '0',
    color: false,
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
  });
  if (code !== 0 && stdout === '') throw new Error(`${command}: ${stderr}`);
  return stdout;
}

/** The width of a column depends on its values, and ports differ here. */
const narrow = (text: string): string => text.replaceAll(/(?<=\S) {2,}(?=\S)/g, '  ');

/** True if this was to be printed. */
export function matches(expected: string, actual: string): boolean {
  const pattern = narrow(expected)
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('[^]*?');
  return new RegExp(`^${pattern}$`).test(narrow(actual));
}
