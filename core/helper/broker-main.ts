/**
 * Entry of a helper process for the broker that comes with srv, which needs no server of its own: the traffic engines and the API would be most of
 * what the process loads.
 */
import { serveMaster } from './serve-master.js';

serveMaster();
