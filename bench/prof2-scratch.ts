import { rmSync, statSync } from "node:fs";
import { StatementSync, DatabaseSync } from "node:sqlite";
import { sqliteStore } from "@awaken/stores/sqlite";
import { nextStep, startConversation } from "./store/step.ts";
const times=new Map<string,[number,number]>();
const op=DatabaseSync.prototype.prepare;
DatabaseSync.prototype.prepare=function(sql:string){ const s=op.call(this,sql); return new Proxy(s,{get(t,k){ const f=(t as any)[k]; if(typeof f!=="function") return f; return (...a:any[])=>{const t0=performance.now(); const r=f.apply(t,a); const d=performance.now()-t0; const e=times.get(sql)??[0,0]; e[0]+=d; e[1]++; times.set(sql,e); return r;};}}) as any; };
const f="/tmp/sb/p.db"; for (const s of ["","-wal","-shm"]) rmSync(f+s,{force:true});
const store=sqliteStore(f,{synchronous:"normal"});
const c=startConversation();
for(let i=0;i<500;i++) await store.commit(nextStep(c));
times.clear(); let n=0; const t0=performance.now();
while(performance.now()-t0<3000){ await store.commit(nextStep(c)); n++; }
console.log("n",n, "us", 3e6/n);
for (const [s,[ms,k]] of [...times].sort((a,b)=>b[1][0]-a[1][0])) console.log((ms*1000/n).toFixed(1)+"us", (k/n).toFixed(1)+"x", s.replace(/\s+/g," ").slice(0,100));
await store.close();
