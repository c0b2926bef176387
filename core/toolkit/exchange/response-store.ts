import { constants } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { argType } from '../../contract/arg-type.js';
import { rest, template } from '../../contract/args.js';
import { MalformedBody, type HttpHandlers, type HttpRequest, type MemberResponse, type Template } from '../../contract/http.js';
import type { Log } from '../../contract/log.js';
import { pathTemplate } from '../../contract/path-template.js';
import type { ServerInfo } from '../../contract/server-info.js';
import { ArgError, directive, type ArgType, type Conf } from '../../contract/spec.js';
import { systemErrorText } from '../../contract/system-error.js';
import type { bufferingDirectives } from './buffering.js';
import { prefixed, unprefixer, type Prefixed } from './prefix.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** Shift of the permissions of each class of users in a mode. */
const CLASSES: Readonly<Record<string, number>> = { user: 6, group: 3, all: 0 };
const PERMISSIONS: Readonly<Record<string, number>> = { r: 0o4, rw: 0o6 };
const OWNER_ONLY = 0o600;

/** `on`, `off`, or a path with variables. */
function storePath(): ArgType<Template, string> {
  const path = pathTemplate('on | off | string');
  const word = template();
  return { ...path, parse: (value, context) => (value === 'on' ? word : path).parse(value, context) };
}

/** Permissions of one class of users, at their place in a mode. */
export interface AccessRights {
  readonly class: string;
  readonly mode: number;
}

function access(): ArgType<AccessRights> {
  return argType({
    kind: 'text',
    form: 'user:perms | group:perms | all:perms',
    parse(value) {
      const [name = '', permissions = ''] = value.split(':');
      const [shift, bits] = [CLASSES[name], PERMISSIONS[permissions]];
      if (shift !== undefined && bits !== undefined && value === `${name}:${permissions}`) return { class: name, mode: bits << shift };
      throw new ArgError(`invalid value "${value}"`, 'for example: user:rw group:r all:r');
    },
  });
}

const DIRECTIVES = {
  store: directive({
    in: ANYWHERE,
    args: storePath(),
    default: 'off',
    doc: 'Saves responses with status 200 as files: `on` where `root` or `alias` says, or in the file with this name.',
  }),
  store_access: directive({
    in: ANYWHERE,
    args: { access: rest(access()) },
    default: 'user:rw',
    doc: 'Permissions of these files. Users who may read the files may also enter the folders created for them.',
  }),
};

/** The directives that {@link ResponseStores} needs, under the names of a module. @param prefix `proxy`: proxy_store, proxy_store_access */
export function storeDirectives<const P extends string>(prefix: P): Prefixed<P, typeof DIRECTIVES> {
  return prefixed(prefix, DIRECTIVES);
}

type Needed = typeof DIRECTIVES & Pick<ReturnType<typeof bufferingDirectives>, 'temp_path'>;
const NEEDED = ['store', 'store_access', 'temp_path'] satisfies (keyof Needed)[];

/** A scope of a module that has the directives, and those for buffers: files are completed in its `temp_path`. */
export interface StoreScope<P extends string> {
  readonly conf: Conf<Prefixed<P, Needed>>;
}

/** Saves responses of members as files, as {@link storeDirectives} say (proxy_store). */
export class ResponseStores<const P extends string> {
  readonly #confOf: (conf: Conf<Prefixed<P, Needed>>) => Conf<Needed>;

  /** @param prefix of the names of its directives */
  constructor(
    prefix: P,
    private readonly info: ServerInfo,
    private readonly log: Log,
  ) {
    this.#confOf = unprefixer(prefix, NEEDED);
  }

  /** Undefined: nothing is stored here. */
  handler({ conf }: StoreScope<P>): HttpHandlers['memberResponse'] {
    const { store: path, store_access: lines, temp_path: temporary } = this.#confOf(conf);
    if (path.constant === 'off' || path.constant === '') return undefined;
    const owner = lines.access.some((line) => line.class === 'user') ? 0 : OWNER_ONLY;
    const mode = lines.access.reduce((all, line) => all | line.mode, owner);
    const files = new StoredFiles(path, { folder: temporary.path, mode, info: this.info, log: this.log });
    return (request, response) => files.store(request, response);
  }
}

interface Place {
  /** Where files are until they are complete. */
  readonly folder: string;
  readonly mode: number;
  readonly info: ServerInfo;
  readonly log: Log;
}

/** Responses as files: written beside the way to the client, also when that leaves, and renamed when they are complete. */
class StoredFiles {
  constructor(
    private readonly path: Template,
    private readonly place: Place,
  ) {}

  store(request: HttpRequest, response: MemberResponse): void {
    if (response.status !== 200 || request.method === 'HEAD') return;
    const path = this.#pathFor(request);
    if (path === undefined) return;
    const modified = Date.parse(response.header('last-modified') ?? '');
    const stored = response.store();
    const body = stored.open();
    stored.release();
    this.#save(path, body, modified).catch((error: unknown) => {
      // The response was cut off, which the log says already.
      if (error instanceof MalformedBody) return;
      this.place.log.write('crit', `storing the response in "${path}" failed (${systemErrorText(error)}) while reading upstream`, request);
    });
  }

  /** Undefined: it is none that a client may choose, which is logged. */
  #pathFor(request: HttpRequest): string | undefined {
    const text = this.path.constant === 'on' ? (request.variable('request_filename') ?? '') : this.path.of(request);
    const path = Buffer.from(text, 'latin1').toString();
    if (path !== '' && !path.endsWith('/') && !path.includes('\0') && !path.split('/').includes('..')) return this.place.info.path(path);
    this.place.log.write('error', `the response is not stored: "${path}" is not the path of a file`, request);
    return undefined;
  }

  async #save(path: string, body: AsyncIterable<Buffer>, modified: number): Promise<void> {
    const { folder, mode } = this.place;
    const temporary = join(folder, `store-${randomName()}`);
    try {
      const file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode);
      try {
        for await (const piece of body) await writeAll(file, piece);
        await file.chmod(mode);
        if (!Number.isNaN(modified)) await file.utimes(new Date(), new Date(modified));
      } finally {
        await file.close();
      }
      await mkdir(dirname(path), { recursive: true, mode: mode | ((mode & 0o444) >> 2) });
      await move(temporary, path);
    } finally {
      await rm(temporary, { force: true });
    }
  }
}

/** Loaded where something is stored: workers start without it. */
function randomName(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(12).toString('hex');
}

async function writeAll(file: FileHandle, piece: Buffer): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await file.write(piece, at)).bytesWritten;
}

/** Another file system gets a copy, under another name until it is complete. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const copy = `${to}.${randomName()}`;
    try {
      await copyFile(from, copy);
      await rename(copy, to);
    } finally {
      await rm(copy, { force: true });
    }
  }
}
