import { Database } from 'bun:sqlite'
