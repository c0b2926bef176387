import type { Template } from './http.js';

/** How responses of members are buffered for slow clients (proxy_buffering and its company). Sizes in bytes. */
export interface ResponseBuffering {
  readonly enabled: boolean;
  /** Longest head of a response (proxy_buffer_size). */
  readonly headSize: number;
  /** Limit of memory (proxy_buffers). */
  readonly memory: number;
  /** Most that is read from the temporary file at once (proxy_busy_buffers_size). */
  readonly readSize: number;
  /** Most that is written to it at once (proxy_temp_file_write_size). */
  readonly writeSize: number;
  /** Longest temporary file (proxy_max_temp_file_size); 0: none. */
  readonly maxFileSize: number;
  /** Folder of the files (proxy_temp_path), and how many digits of a name make the name of each level of folders in it. */
  readonly folder: string;
  readonly levels: readonly number[];
  /** Bytes a second that are read from the member while the response is buffered (proxy_limit_rate); undefined: as they come. */
  readonly limitRate: Template | undefined;
}
