/** Entry of a helper process for any module. */
import { ControlServer } from './control-server.js';
import { serveMaster } from './serve-master.js';

serveMaster((...given) => new ControlServer(...given));
