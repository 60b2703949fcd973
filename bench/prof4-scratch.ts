import { rmSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "@awaken/stores/sqlite";
import { nextStep, startConversation } from "./store/step.ts";
const f="/tmp/sb/p.db"; for (const s of ["","-wal","-shm"]) rmSync(f+s,{force:true});
const store=sqliteStore(f,{synchronous:"normal"});
const cs=Array.from({length:Number(process.argv[2]??1)},startConversation);
for(let i=0;i<2000;i++) await store.commit(nextStep(cs[i%cs.length]!));
const db=new DatabaseSync(f);
db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
for(let i=0;i<100;i++) await store.commit(nextStep(cs[i%cs.length]!));
const wal=readFileSync(f+"-wal"); const counts=new Map<number,number>(); let frames=0;
for(let o=32;o+24+4096<=wal.length;o+=24+4096){ const pg=wal.readUInt32BE(o); counts.set(pg,(counts.get(pg)??0)+1); frames++; }
db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
const names=new Map(db.prepare("select name,pageno,pagetype from dbstat").all().map((r:any)=>[r.pageno,r.name+" "+r.pagetype]));
const by=new Map<string,number>(); for(const [pg,c] of counts){ const n=names.get(pg)??"page"+pg; by.set(n,(by.get(n)??0)+c); }
console.log("frames",frames/100); for(const [n,c] of [...by].sort((a,b)=>b[1]-a[1])) console.log((c/100).toFixed(2),n);
await store.close();
