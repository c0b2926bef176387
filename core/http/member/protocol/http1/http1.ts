import type { CoreCodec, SerialProtocol, SerialStream } from '../serial-stream.js';
import { Http1Codec } from './http1-codec.js';

/** HTTP/1.1, and HTTP/1.0, which closes after each response. */
export class Http1 implements SerialProtocol {
  speak(stream: SerialStream): CoreCodec {
    return new Http1Codec(stream);
  }
}
