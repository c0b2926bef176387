/** One file as it was loaded first. */
export interface LoadedFile {
  /** How Node.js reads it: `module`, `commonjs`, … */
  readonly format: string;
  /** Its bytes, in memory that threads share. */
  readonly source: Uint8Array;
  /** URLs of what it imports, by the text that its code has. */
  readonly imports: ReadonlyMap<string, string>;
}

/** Files by their URL. */
export type LoadedFiles = ReadonlyMap<string, LoadedFile>;

/** The code of one module: its file and the files that it imports by a relative path, as they were at one moment. */
export interface CodeVersion {
  /** Absolute path of the module. */
  readonly file: string;
  /** 0: as it was loaded first. Modules that were loaded again at the same moment have the same number. */
  readonly version: number;
}

/** The modules that `load_module` lines mean, by the argument of the line. Lines that mean nothing are missing. */
export type ModulePlan = ReadonlyMap<string, readonly CodeVersion[]>;

/** The modules of a configuration on their way to another thread, which loads the same code. */
export interface ModuleShare {
  readonly plan: ModulePlan;
  readonly files: LoadedFiles;
}
