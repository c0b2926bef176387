import { parseTime } from '../../core/module/args.js';
import { durationText } from '../../core/module/duration.js';
import { directiveText, type Directive } from '../../core/module/tree.js';

/** Settings of a member. Times in milliseconds. */
export interface ServerSettings {
  readonly server: string;
  readonly weight: number;
  readonly max_conns: number;
  readonly max_fails: number;
  readonly fail_timeout: number;
  readonly slow_start: number;
  readonly route: string;
  readonly service: string;
  readonly resolve: boolean;
  readonly backup: boolean;
  readonly down: boolean;
  readonly drain: boolean;
}

/** What a `server` line means that says nothing but the address. */
export const DEFAULTS: Omit<ServerSettings, 'server'> = {
  weight: 1,
  max_conns: 0,
  max_fails: 1,
  fail_timeout: 10_000,
  slow_start: 0,
  route: '',
  service: '',
  resolve: false,
  backup: false,
  down: false,
  drain: false,
};

const NUMBERS = ['weight', 'max_conns', 'max_fails'] as const;
const TIMES = ['fail_timeout', 'slow_start'] as const;
const TEXTS = ['route', 'service'] as const;
const WORDS = ['resolve', 'backup', 'down', 'drain'] as const;

/** The settings of a `server` line that is in force, so that it needs no checks. */
export function readServerLine({ args }: Directive): ServerSettings {
  const [server = '', ...words] = args.map((word) => word.text);
  const params = new Map(
    words.map((word): [string, string] => {
      const equals = word.indexOf('=');
      return equals < 0 ? [word, ''] : [word.slice(0, equals), word.slice(equals + 1)];
    }),
  );
  const settings: Record<string, unknown> = { server };
  for (const name of NUMBERS) settings[name] = Number(params.get(name) ?? DEFAULTS[name]);
  for (const name of TIMES) settings[name] = parseTime(params.get(name) ?? '') ?? DEFAULTS[name];
  for (const name of TEXTS) settings[name] = params.get(name) ?? DEFAULTS[name];
  for (const name of WORDS) settings[name] = params.has(name);
  return settings as unknown as ServerSettings;
}

/** A `server` line that says what is not the default. */
export function serverLine(settings: ServerSettings): string {
  const words = [settings.server];
  for (const name of NUMBERS) if (settings[name] !== DEFAULTS[name]) words.push(`${name}=${settings[name]}`);
  for (const name of TIMES) if (settings[name] !== DEFAULTS[name]) words.push(`${name}=${durationText(settings[name])}`);
  for (const name of TEXTS) if (settings[name] !== DEFAULTS[name]) words.push(`${name}=${settings[name]}`);
  for (const name of WORDS) if (settings[name]) words.push(name);
  return directiveText('server', words);
}

/** True if both lines mean the same. */
export function sameSettings(a: ServerSettings, b: ServerSettings): boolean {
  return serverLine(a) === serverLine(b);
}
