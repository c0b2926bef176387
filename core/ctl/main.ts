import { ApiClient, type SentRequest } from './api-client.js';
import { parseArguments, type ParsedArguments } from './arguments.js';
import type { CommandCall, Command } from './command.js';
import { COMMANDS } from './commands.js';
import { completionScript } from './completion.js';
import { diffLines } from './diff.js';
import { eventLines, followEvents } from './events.js';
import { EXIT, CommandFailure, responseFailure, usageFailure } from './failure.js';
import { helpText } from './help.js';
import { confirm } from './confirmation.js';
import { readSettings, readText } from './settings.js';
import { runTop, type Terminal } from './top/run-top.js';
import { storeResponse } from './stored-response.js';
import { bodyOf, wholeBody } from './whole-body.js';

/** Surroundings of a run. */
export interface CommandEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** True if differences are coloured. */
  readonly color: boolean;
  /** Absent: the output or the input is not a terminal. */
  readonly terminal?: Terminal;
  stdout(text: string): void;
  stderr(text: string): void;
}

/** Runs one command line. Returns the exit code; what went wrong has been printed. */
export async function run(argv: readonly string[], surroundings: CommandEnvironment): Promise<number> {
  try {
    return await carryOut(argv, surroundings);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    surroundings.stderr([`srvctl: ${error.message}`, ...error.lines].map((line) => `${line}\n`).join(''));
    return error.code;
  }
}

async function carryOut(argv: readonly string[], surroundings: CommandEnvironment): Promise<number> {
  const { command, words, args } = parseArguments(argv.length === 1 && argv[0] === '--version' ? ['version'] : argv, COMMANDS);
  const [first, ...others] = words;
  const wantsHelp = args.flag('help');
  if (command === undefined) surroundings.stdout(ownCommand(first, others, wantsHelp, surroundings.version));
  else if (wantsHelp) surroundings.stdout(helpText([command.words]));
  else {
    args.checkOperands();
    return call(command, args, surroundings);
  }
  return EXIT.done;
}

/** Commands that call nothing. Returns what they print. */
function ownCommand(first: string | undefined, others: readonly string[], wantsHelp: boolean, version: string): string {
  if (first === undefined && !wantsHelp) throw usageFailure('a command is missing');
  if (wantsHelp) return helpText(first === undefined ? [] : [first, ...others]);
  if (first === 'help') return helpText(others);
  if (first === 'version') return `srvctl ${version}\n`;
  if (first === 'completion') return completionScript(others[0] ?? '');
  const group = COMMANDS.filter(({ words }) => words.startsWith(`${first} `)).map(({ words }) => words.split(' ')[1]);
  if (group.length === 0) throw usageFailure(`unknown command "${first}"`);
  const what = others[0] === undefined ? `"${first}" needs a command` : `unknown command "${first} ${others[0]}"`;
  throw usageFailure(what, `commands of ${first}: ${group.join(', ')}`);
}

async function call(command: Command, args: ParsedArguments, surroundings: CommandEnvironment): Promise<number> {
  const settings = readSettings(args, surroundings.env);
  const commandCall = command.call(args, readText);
  const client = new ApiClient({ ...settings, timeoutMs: settings.timeoutMs + (commandCall.takes ?? 0) });
  const request = requestOf(commandCall, args);
  const print = (lines: readonly string[]): void => surroundings.stdout(lines.map((line) => `${line}\n`).join(''));
  const isJson = args.flag('json');
  if (command.redraws) {
    await runTop(client, args, surroundings);
    return EXIT.done;
  }
  if (command.confirm !== undefined && !args.flag('yes')) await confirm(command.confirm(args), surroundings);
  if (command.file !== undefined) {
    print([await storeResponse(client, request, command.file(args))]);
    return EXIT.done;
  }
  if (command.follows) {
    const count = args.optional('count');
    if (count !== undefined && !/^[1-9]\d{0,8}$/.test(count)) throw usageFailure('--count must be a number');
    const following = { count: count === undefined ? undefined : Number(count), after: args.optional('after') };
    await followEvents(client, request, { ...following, print: (data) => print(isJson ? [data] : (command.line ?? eventLines)(data)) });
    return EXIT.done;
  }
  const response = await client.send(request);
  if (response.status >= 300) throw responseFailure(response.status, response.body);
  if (args.flag('etag')) {
    print([response.headers['etag'] ?? '']);
    return EXIT.done;
  }
  const body = args.optional('limit') === undefined ? await wholeBody(client, response) : bodyOf(response);
  const difference = command.showsDiff || args.flag('dry-run') ? (body as { diff?: readonly string[] } | undefined)?.diff : undefined;
  if (isJson) print(body === undefined ? [] : [typeof body === 'string' ? body.replace(/\n$/, '') : JSON.stringify(body, undefined, 2)]);
  else if (difference !== undefined) print(diffLines(difference, surroundings.color));
  else print(command.show(body, args));
  return args.flag('exit-code') && (difference?.length ?? 0) > 0 ? EXIT.different : EXIT.done;
}

function requestOf({ method, path, query = {}, body }: CommandCall, args: ParsedArguments): SentRequest {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries({ ...query, ...args.parameters() }))
    for (const value of [values].flat()) parameters.append(name, value);
  if (args.flag('dry-run')) parameters.append('dry_run', '1');
  return {
    method,
    path: parameters.size === 0 ? path : `${path}?${parameters.toString().replaceAll('+', '%20')}`,
    headers: headersOf(args),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  };
}

/** @throws Failure */
function headersOf(args: ParsedArguments): Record<string, string> {
  const [ifMatch, message] = [args.optional('if-match'), args.optional('message')];
  if (message !== undefined && /\p{Cc}/u.test(message)) throw usageFailure('--message must be one line');
  return {
    ...(ifMatch !== undefined && { 'if-match': /^(\*|(W\/)?".*")$/.test(ifMatch) ? ifMatch : `"${ifMatch}"` }),
    // Header fields are bytes.
    ...(message !== undefined && { 'change-message': Buffer.from(message).toString('latin1') }),
  };
}
