/** A file system whose reads and writes wait when a test says so: FUSE, spoken over its device, with files in memory. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, read, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './scope.js';

/** Operations of the protocol (linux/fuse.h). */
const Op = {
  Lookup: 1,
  Forget: 2,
  Getattr: 3,
  Setattr: 4,
  Mkdir: 9,
  Unlink: 10,
  Rename: 12,
  Open: 14,
  Read: 15,
  Write: 16,
  Statfs: 17,
  Release: 18,
  Fsync: 20,
  Flush: 25,
  Init: 26,
  Opendir: 27,
  Readdir: 28,
  Releasedir: 29,
  Create: 35,
  Interrupt: 36,
  BatchForget: 42,
  Rename2: 45,
} as const;
const [ENOENT, ENOSYS] = [-2, -38];
const HEAD = 40;
const REQUEST = 1_048_576 + 4096;
const [DIRECTORY, FILE] = [0o040755, 0o100644];

interface Inode {
  readonly number: number;
  /** Of a folder. */
  readonly children: Map<string, Inode> | undefined;
  bytes: Buffer;
}

export class SlowDisk {
  readonly #inodes = new Map<number, Inode>();
  #paused: Buffer[] | undefined = undefined;

  private constructor(
    readonly folder: string,
    private readonly device: number,
  ) {
    this.#add(DIRECTORY);
    this.#serve();
  }

  /** Undefined where this user may not mount it. */
  static mount(t: Scope): SlowDisk | undefined {
    let device: number;
    try {
      device = openSync('/dev/fuse', 'r+');
    } catch {
      return undefined;
    }
    const folder = mkdtempSync(join(tmpdir(), 'srv-slow-'));
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
    const { status } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'srv-slow', folder], {
      stdio: ['ignore', 'ignore', 'ignore', device],
    });
    const disk = status === 0 ? new SlowDisk(folder, device) : undefined;
    t.teardown(() => {
      disk?.resume();
      if (status === 0) spawnSync('umount', ['-l', folder]);
      closeSync(device);
      rmSync(folder, { recursive: true, force: true });
    });
    return disk;
  }

  /** Nothing is done until {@link resume}. */
  pause(): void {
    this.#paused ??= [];
  }

  /** Operations that wait. */
  get waiting(): number {
    return this.#paused?.length ?? 0;
  }

  resume(): void {
    const waiting = this.#paused ?? [];
    this.#paused = undefined;
    for (const request of waiting) this.#respond(request);
  }

  #add(mode: number): Inode {
    const inode: Inode = {
      number: this.#inodes.size + 1,
      children: mode === DIRECTORY ? new Map() : undefined,
      bytes: Buffer.alloc(0),
    };
    this.#inodes.set(inode.number, inode);
    return inode;
  }

  #serve(): void {
    read(this.device, Buffer.alloc(REQUEST), 0, REQUEST, null, (error, count, request) => {
      // ENODEV: it is unmounted.
      if (error !== null && error.code !== 'EINTR' && error.code !== 'ENOENT') return;
      if (error === null) {
        const one = request.subarray(0, count);
        if (this.#paused === undefined) this.#respond(one);
        else this.#paused.push(one);
      }
      this.#serve();
    });
  }

  #respond(request: Buffer): void {
    const op = request.readUInt32LE(4);
    if (op === Op.Forget || op === Op.BatchForget || op === Op.Interrupt) return;
    const result = this.#run(op, Number(request.readBigUInt64LE(16)), request.subarray(HEAD));
    const [error, body] = typeof result === 'number' ? [result, Buffer.alloc(0)] : [0, result];
    const head = Buffer.alloc(16);
    head.writeUInt32LE(16 + body.length);
    head.writeInt32LE(error, 4);
    request.copy(head, 8, 8, 16);
    try {
      writeSync(this.device, Buffer.concat([head, body]));
    } catch {
      // The caller was interrupted, or the file system is unmounted.
    }
  }

  /** @returns the body of the response, or an error; 0: neither */
  #run(op: number, number: number, body: Buffer): Buffer | number {
    const inode = this.#inodes.get(number);
    if (op === Op.Init) return initResponse(body);
    if (inode === undefined) return ENOENT;
    switch (op) {
      case Op.Lookup:
        return entryResponse(inode.children?.get(textAt(body, 0)));
      case Op.Getattr:
        return attributesResponse(inode);
      case Op.Setattr:
        if ((body.readUInt32LE(0) & 8) !== 0) resize(inode, Number(body.readBigUInt64LE(16)));
        return attributesResponse(inode);
      case Op.Mkdir:
        return entryResponse(this.#put(inode, textAt(body, 8), DIRECTORY));
      case Op.Create:
        return Buffer.concat([entryResponse(this.#put(inode, textAt(body, 16), FILE)) as Buffer, Buffer.alloc(16)]);
      case Op.Unlink:
        return inode.children?.delete(textAt(body, 0)) === true ? 0 : ENOENT;
      case Op.Rename:
      case Op.Rename2:
        return this.#rename(inode, body, op === Op.Rename ? 8 : 16);
      case Op.Read:
        return inode.bytes.subarray(Number(body.readBigUInt64LE(8)), Number(body.readBigUInt64LE(8)) + body.readUInt32LE(16));
      case Op.Write:
        return write(inode, Number(body.readBigUInt64LE(8)), body.subarray(40, 40 + body.readUInt32LE(16)));
      case Op.Readdir:
        return Number(body.readBigUInt64LE(8)) > 0 ? Buffer.alloc(0) : listing(inode);
      case Op.Open:
      case Op.Opendir:
        return Buffer.alloc(16);
      case Op.Statfs:
        return statfsResponse();
      case Op.Release:
      case Op.Releasedir:
      case Op.Flush:
      case Op.Fsync:
        return 0;
      default:
        return ENOSYS;
    }
  }

  #put(folder: Inode, name: string, mode: number): Inode {
    const inode = this.#add(mode);
    folder.children?.set(name, inode);
    return inode;
  }

  #rename(folder: Inode, body: Buffer, at: number): number {
    const target = this.#inodes.get(Number(body.readBigUInt64LE(0)));
    const name = textAt(body, at);
    const inode = folder.children?.get(name);
    if (inode === undefined || target === undefined) return ENOENT;
    folder.children?.delete(name);
    target.children?.set(textAt(body, at + Buffer.byteLength(name) + 1), inode);
    return 0;
  }
}

function textAt(bytes: Buffer, at: number): string {
  return bytes.toString('utf8', at, bytes.indexOf(0, at));
}

function resize(inode: Inode, length: number): void {
  inode.bytes = Buffer.concat([inode.bytes, Buffer.alloc(Math.max(0, length - inode.bytes.length))]).subarray(0, length);
}

function write(inode: Inode, offset: number, bytes: Buffer): Buffer {
  if (inode.bytes.length < offset + bytes.length) resize(inode, offset + bytes.length);
  bytes.copy(inode.bytes, offset);
  const response = Buffer.alloc(8);
  response.writeUInt32LE(bytes.length);
  return response;
}

function initResponse(body: Buffer): Buffer {
  const response = Buffer.alloc(64);
  response.writeUInt32LE(7);
  response.writeUInt32LE(Math.min(31, body.readUInt32LE(4)), 4);
  // Pieces of up to 128 KB.
  response.writeUInt32LE(131_072, 20);
  return response;
}

/** All times are long ago, and nothing is remembered by the kernel. */
function attributes({ number, children, bytes }: Inode): Buffer {
  const response = Buffer.alloc(88);
  response.writeBigUInt64LE(BigInt(number));
  response.writeBigUInt64LE(BigInt(bytes.length), 8);
  response.writeUInt32LE(children === undefined ? FILE : DIRECTORY, 60);
  response.writeUInt32LE(1, 64);
  response.writeUInt32LE(4096, 80);
  return response;
}

function attributesResponse(inode: Inode): Buffer {
  return Buffer.concat([Buffer.alloc(16), attributes(inode)]);
}

function entryResponse(inode: Inode | undefined): Buffer | number {
  if (inode === undefined) return ENOENT;
  const response = Buffer.alloc(40);
  response.writeBigUInt64LE(BigInt(inode.number));
  return Buffer.concat([response, attributes(inode)]);
}

function listing({ children }: Inode): Buffer {
  return Buffer.concat(
    [...(children ?? [])].map(([name, inode], at) => {
      const text = Buffer.from(name);
      const entry = Buffer.alloc(24 + Math.ceil(text.length / 8) * 8);
      entry.writeBigUInt64LE(BigInt(inode.number));
      entry.writeBigUInt64LE(BigInt(at + 1), 8);
      entry.writeUInt32LE(text.length, 16);
      entry.writeUInt32LE(inode.children === undefined ? 8 : 4, 20);
      text.copy(entry, 24);
      return entry;
    }),
  );
}

function statfsResponse(): Buffer {
  const response = Buffer.alloc(80);
  for (const at of [0, 8, 16, 24, 32]) response.writeBigUInt64LE(1_000_000n, at);
  response.writeUInt32LE(4096, 40);
  response.writeUInt32LE(255, 44);
  response.writeUInt32LE(4096, 48);
  return response;
}
